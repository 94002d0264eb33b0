#include "plugin_host.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gristmill::test {

namespace {

constexpr std::size_t guard_bytes = 64;
constexpr char guard = '\xa5';

/// Read-only memory that holds `bytes` and a padding which would continue many a record, right
/// before a page that cannot be read.
class InputMemory {
  public:
    explicit InputMemory(std::string_view bytes) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::size_t needed = bytes.size() + GM_BATCH_PADDING;
        const std::size_t readable = (needed + page - 1) / page * page;
        size_ = readable + page;
        base_ = static_cast<char *>(
            ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        data_ = base_ + readable - needed;
        std::memcpy(data_, bytes.data(), bytes.size());
        constexpr std::string_view continued = "12\",\"dur\":1234567}\n";
        for (std::size_t i = 0; i < GM_BATCH_PADDING; ++i) {
            data_[bytes.size() + i] = continued[i % continued.size()];
        }
        ::mprotect(base_, readable, PROT_READ);
        ::mprotect(base_ + readable, page, PROT_NONE);
    }
    ~InputMemory() { ::munmap(base_, size_); }
    InputMemory(const InputMemory &) = delete;
    InputMemory &operator=(const InputMemory &) = delete;

    const std::uint8_t *data() const { return reinterpret_cast<const std::uint8_t *>(data_); }

  private:
    char *base_;
    char *data_;
    std::size_t size_;
};

/// What stands behind gm_output while a batch runs.
struct Sink {
    Outcome outcome;
    std::vector<char> room;
    std::uint64_t reserved = 0;
    std::uint64_t *memory_left;

    void complain(const char *text) { outcome.complaints.emplace_back(text); }

    void check_guards() {
        const auto is_guard = [](char c) { return c == guard; };
        const auto end = static_cast<std::ptrdiff_t>(guard_bytes);
        if (room.empty())
            return;
        if (!std::all_of(room.begin(), room.begin() + end, is_guard))
            complain("wrote before the reservation");
        if (!std::all_of(room.end() - end, room.end(), is_guard))
            complain("wrote behind the reservation");
    }

    static Sink &of(gm_output *out) { return *static_cast<Sink *>(out->context); }
};

std::uint8_t *reserve(gm_output *out, std::uint64_t bytes) {
    Sink &sink = Sink::of(out);
    sink.check_guards();
    if (bytes > *sink.memory_left)
        return nullptr;
    *sink.memory_left -= bytes;
    sink.room.assign(bytes + 2 * guard_bytes, guard);
    sink.reserved = bytes;
    return reinterpret_cast<std::uint8_t *>(sink.room.data() + guard_bytes);
}

void commit(gm_output *out, std::uint64_t bytes) {
    Sink &sink = Sink::of(out);
    sink.check_guards();
    if (bytes > sink.reserved) {
        sink.complain("committed more than was reserved");
        return;
    }
    sink.outcome.output.append(sink.room.data() + guard_bytes, bytes);
    sink.room.clear();
    sink.reserved = 0;
}

void fail_record(gm_output *out, std::uint64_t index, const char *reason) {
    Sink &sink = Sink::of(out);
    sink.outcome.failures.push_back(
        {index, reason == nullptr ? "" : reason, sink.outcome.output.size()});
    ++out->failed;
}

} // namespace

std::string Framing::join(const std::vector<std::string> &records) const {
    std::string bytes;
    for (const std::string &record : records) {
        if (kind == GM_FRAMING_U32LE) {
            for (int i = 0; i < 4; ++i)
                bytes += static_cast<char>(record.size() >> (8 * i));
        }
        bytes += record;
        bytes += delimiter;
    }
    return bytes;
}

std::vector<std::string> Framing::split(std::string_view bytes) const {
    std::vector<std::string> records;
    while (!bytes.empty()) {
        std::size_t begin = 0, size = bytes.size(), end = size;
        if (kind == GM_FRAMING_U32LE) {
            begin = 4;
            size = 0;
            for (std::size_t i = 0; i < 4; ++i)
                size |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
            end = begin + size;
        } else if (kind == GM_FRAMING_DELIMITER) {
            size = bytes.find(delimiter);
            end = size + delimiter.size();
        }
        records.emplace_back(bytes.substr(begin, size));
        bytes.remove_prefix(end);
    }
    return records;
}

PluginHost::PluginHost(const struct gm_plugin &plugin, const char *config) : plugin_(&plugin) {
    create(config);
}

PluginHost::PluginHost(const char *path, const char *config)
    : library_(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) {
        explanation_ = ::dlerror();
        return;
    }
    plugin_ = static_cast<const struct gm_plugin *>(::dlsym(library_, "gm_plugin"));
    if (plugin_ != nullptr)
        create(config);
}

PluginHost::~PluginHost() {
    if (state_ != nullptr && plugin_->destroy != nullptr)
        plugin_->destroy(state_);
    if (library_ != nullptr)
        ::dlclose(library_);
}

void PluginHost::create(const char *config) {
    host_.struct_size = sizeof host_;
    host_.abi_version = GM_PLUGIN_ABI_VERSION;
    host_.context = this;
    host_.cancelled = [](const gm_host *) { return 0; };
    host_.explain = [](const gm_host *host, const char *text) {
        static_cast<PluginHost *>(host->context)->explanation_ = text;
    };
    if (plugin_->create != nullptr)
        state_ = plugin_->create(config, &host_);
}

Outcome PluginHost::run(const std::vector<std::string> &records, const Framing &framing) {
    const std::uint64_t record_bytes = framing.kind == GM_FRAMING_FIXED ? records[0].size() : 0;
    return run_bytes(framing.join(records), records.size(), record_bytes, framing);
}

Outcome PluginHost::run_bytes(std::string_view bytes, std::uint64_t record_count,
                              std::uint64_t record_bytes, const Framing &framing) {
    const InputMemory input(bytes);
    gm_batch batch{};
    batch.struct_size = sizeof batch;
    batch.data = input.data();
    batch.size = bytes.size();
    batch.record_count = record_count;
    batch.framing = framing.kind;
    batch.record_bytes = record_bytes;
    if (framing.kind == GM_FRAMING_DELIMITER) {
        batch.delimiter = reinterpret_cast<const std::uint8_t *>(framing.delimiter.data());
        batch.delimiter_size = framing.delimiter.size();
    }
    Sink sink;
    sink.memory_left = &memory_left_;
    gm_output out{};
    out.struct_size = sizeof out;
    out.context = &sink;
    out.reserve = reserve;
    out.commit = commit;
    out.fail_record = fail_record;
    sink.outcome.status = plugin_->process(state_, &batch, &out);
    sink.check_guards();
    sink.outcome.emitted = out.emitted;
    sink.outcome.filtered = out.filtered;
    sink.outcome.failed = out.failed;
    if (sink.outcome.status == GM_OK && out.emitted + out.filtered + out.failed != record_count) {
        sink.complain("the counts do not add up to the batch's");
    }
    return sink.outcome;
}

} // namespace gristmill::test
