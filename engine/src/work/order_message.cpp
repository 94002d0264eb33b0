#include "work/order_message.hpp"

#include <cstring>
#include <type_traits>

namespace gristmill::work {

namespace {

// Both directions walk the same fields in the same order; both ends are the same build.
class Writer {
  public:
    template <class T>
        requires(std::is_trivially_copyable_v<T>)
    void field(const T &value) {
        bytes_.append(reinterpret_cast<const char *>(&value), sizeof value);
    }
    void field(const std::string &text) {
        field(std::uint64_t{text.size()});
        bytes_ += text;
    }
    template <class T>
    void field(const std::vector<T> &items) {
        field(std::uint64_t{items.size()});
        for (const T &item : items)
            field(item);
    }
    std::string take() { return std::move(bytes_); }

  private:
    std::string bytes_;
};

class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    template <class T>
        requires(std::is_trivially_copyable_v<T>)
    void field(T &value) {
        if (const char *data = take(sizeof value))
            std::memcpy(&value, data, sizeof value);
    }
    void field(bool &value) { // any byte but 0 and 1 would be no bool
        std::uint8_t byte = 0;
        field(byte);
        value = byte != 0;
    }
    void field(std::string &text) {
        std::uint64_t size = 0;
        field(size);
        if (const char *data = take(size))
            text.assign(data, size);
    }
    template <class T>
    void field(std::vector<T> &items) {
        std::uint64_t size = 0;
        field(size);
        for (std::uint64_t i = 0; whole_ && i < size; ++i)
            field(items.emplace_back());
    }
    bool all_read() const { return whole_ && bytes_.empty(); }

  private:
    const char *take(std::uint64_t size) {
        whole_ = whole_ && size <= bytes_.size();
        if (!whole_)
            return nullptr;
        const char *data = bytes_.data();
        bytes_.remove_prefix(size);
        return data;
    }
    std::string_view bytes_;
    bool whole_ = true;
};

template <class Archive, class Message>
void walk(Archive &archive, Message &message) {
    auto &order = message.order;
    archive.field(order.framing.kind);
    archive.field(order.framing.delimiter);
    archive.field(order.framing.record_bytes);
    archive.field(order.max_record_bytes);
    archive.field(order.read_bytes);
    archive.field(order.keep_notes);
    archive.field(order.output);
    archive.field(order.count_output);
    archive.field(order.keep_lengths);
    archive.field(order.whole_attempts);
    archive.field(order.batches_per_worker);
    archive.field(message.payload.kind);
    archive.field(message.payload.texts);
    archive.field(message.holder);
    archive.field(message.ring_generation);
    archive.field(message.ring_bytes);
    archive.field(message.mirrored);
    archive.field(message.isolation);
    archive.field(message.files);
}

} // namespace

std::string encode(const OrderMessage &message) {
    Writer writer;
    walk(writer, message);
    return writer.take();
}

std::optional<OrderMessage> decode_order(std::string_view bytes) {
    OrderMessage message;
    Reader reader(bytes);
    walk(reader, message);
    if (!reader.all_read())
        return std::nullopt;
    return message;
}

} // namespace gristmill::work
