// A C++20 veneer over the plugin ABI of plugin.h: a plugin becomes one small class.
//
//     struct Shout {
//         explicit Shout(std::string_view config);    // or Shout(config, host), or Shout()
//         void process(const gristmill::plugin::Batch& batch, gristmill::plugin::Output& output) {
//             for (std::string_view record : batch.records()) output.emit(shouted(record));
//         }
//     };
//     GRISTMILL_PLUGIN(Shout, "shout", 0);
//
// One object of the class is made per worker and only that worker's thread ever touches it.
// Account for every record, in order, by exactly one of emit, filter and fail. An exception never
// leaves the plugin: thrown by the constructor it becomes the reason why the plugin does not
// start, thrown by process() the reason why the batch failed. Nothing here allocates per record.
#ifndef GRISTMILL_PLUGIN_HPP
#define GRISTMILL_PLUGIN_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include <gristmill/plugin.h>

namespace gristmill::plugin {

/// The bytes of the 32-bit little-endian length before a record under GM_FRAMING_U32LE.
inline constexpr std::size_t u32_header_bytes = 4;

/// The engine as a plugin sees it; valid for the life of the plugin object. Cheap to copy.
class Host {
  public:
    explicit Host(const gm_host *raw) noexcept : raw_(raw) {}

    /// True once the run has been cancelled: return from process() soon.
    bool cancelled() const noexcept { return raw_ != nullptr && raw_->cancelled(raw_) != 0; }

    /// Says why create or process fails. Throwing does this by itself.
    void explain(const char *text) const noexcept {
        if (raw_ != nullptr)
            raw_->explain(raw_, text);
    }

  private:
    const gm_host *raw_;
};

/// The records of one batch, first to last, to be walked once by a range-for. A record is a view
/// into the batch, without its delimiter or header. Throws std::runtime_error at a frame that
/// does not fit the batch.
class Records {
  public:
    class Iterator;

    explicit Records(const gm_batch &batch) noexcept : batch_(&batch) {}
    Iterator begin() const;
    std::default_sentinel_t end() const noexcept { return {}; }

  private:
    const gm_batch *batch_;
};

class Records::Iterator {
  public:
    explicit Iterator(const gm_batch &batch)
        : next_(reinterpret_cast<const char *>(batch.data)), end_(next_ + batch.size),
          batch_(&batch) {
        ++*this;
    }

    std::string_view operator*() const noexcept { return {begin_, size_}; }
    bool operator==(std::default_sentinel_t) const noexcept { return begin_ == nullptr; }

    Iterator &operator++() {
        if (next_ == end_) {
            begin_ = nullptr;
            return *this;
        }
        begin_ = next_;
        if (batch_->framing == GM_FRAMING_DELIMITER) {
            to_delimiter();
        } else {
            to_frame_end();
        }
        return *this;
    }

  private:
    void to_delimiter() noexcept {
        const auto rest = static_cast<std::size_t>(end_ - next_);
        if (batch_->delimiter_size == 1) {
            const void *found = std::memchr(next_, *batch_->delimiter, rest);
            size_ = found == nullptr
                        ? rest
                        : static_cast<std::size_t>(static_cast<const char *>(found) - next_);
        } else {
            const std::string_view delimiter(reinterpret_cast<const char *>(batch_->delimiter),
                                             batch_->delimiter_size);
            size_ = std::min(std::string_view(next_, rest).find(delimiter), rest);
        }
        next_ += std::min<std::size_t>(size_ + batch_->delimiter_size, rest);
    }

    void to_frame_end() {
        std::size_t header = 0;
        std::uint64_t length = batch_->record_bytes;
        const auto rest = static_cast<std::size_t>(end_ - next_);
        if (batch_->framing == GM_FRAMING_U32LE) {
            header = u32_header_bytes;
            if (rest < header)
                throw std::runtime_error("the batch ends within a frame's length");
            length = 0;
            for (std::size_t i = 0; i < header; ++i) {
                length |= std::uint64_t{static_cast<unsigned char>(next_[i])} << (8 * i);
            }
        }
        if (length > rest - header || header + length == 0) {
            throw std::runtime_error("the batch is not made of whole frames");
        }
        begin_ = next_ + header;
        size_ = static_cast<std::size_t>(length);
        next_ = begin_ + size_;
    }

    const char *begin_ = nullptr; // of the record in hand; null past the last
    std::size_t size_ = 0;
    const char *next_;
    const char *end_;
    const gm_batch *batch_;
};

inline Records::Iterator Records::begin() const { return Iterator(*batch_); }

/// One batch of whole records. At least GM_BATCH_PADDING readable bytes follow its data.
class Batch {
  public:
    explicit Batch(const gm_batch &raw) noexcept : raw_(&raw) {}

    Records records() const noexcept { return Records(*raw_); }
    std::string_view data() const noexcept {
        return {reinterpret_cast<const char *>(raw_->data), static_cast<std::size_t>(raw_->size)};
    }
    std::uint64_t record_count() const noexcept { return raw_->record_count; }
    /// Number of the batch within the run, from 0.
    std::uint64_t sequence() const noexcept { return raw_->sequence; }
    /// Everything else the engine says about the batch.
    const gm_batch &raw() const noexcept { return *raw_; }

  private:
    const gm_batch *raw_;
};

/// What a record that gives no result leaves in the output.
enum class Leave {
    nothing,
    blank, ///< an empty record, so that output i belongs to input i
};

/// Where the records of one batch go, framed like the input: the delimiter behind each, a length
/// before each, or nothing. Every record counts once, by emit, filter or fail, in input order.
/// When the engine has no memory left, any member throws std::bad_alloc.
class Output {
  public:
    Output(gm_output &raw, const Batch &batch) noexcept
        : raw_(raw), delimiter_(batch.raw().delimiter),
          delimiter_bytes_(delimiter_ == nullptr ? 0 : batch.raw().delimiter_size),
          header_bytes_(batch.raw().framing == GM_FRAMING_U32LE ? u32_header_bytes : 0),
          next_reserve_(batch.data().size() + frame_bytes()),
          growth_(batch.data().size() / 4 + frame_bytes()) {}
    Output(const Output &) = delete;
    Output &operator=(const Output &) = delete;

    /// The record's result is `record`.
    void emit(std::string_view record) {
        char *at = start(record.size());
        if (!record.empty())
            std::memcpy(at, record.data(), record.size());
        emit_until(at + record.size());
    }

    /// Room for a result of at most `bytes` bytes, to be written in place and closed by
    /// emit_until. What is written but not emitted is forgotten.
    char *start(std::size_t bytes) {
        if (static_cast<std::size_t>(end_ - at_) < bytes + frame_bytes())
            grow(bytes + frame_bytes());
        return at_ + header_bytes_;
    }

    /// The record's result is what stands between the last start() and `record_end`.
    void emit_until(char *record_end) {
        close(record_end);
        ++emitted_;
    }

    /// The record is left out by intention.
    void filter(Leave leave) {
        if (leave == Leave::blank)
            close(start(0));
        ++filtered_;
    }

    /// The record failed for `reason` (UTF-8, copied, may be null).
    void fail(const char *reason, Leave leave) {
        if (at_ != nullptr)
            next_reserve_ = static_cast<std::size_t>(end_ - at_);
        commit(); // what is committed is what stands before the failing record
        raw_.fail_record(&raw_, emitted_ + filtered_ + failed_, reason);
        ++failed_;
        if (leave == Leave::blank)
            close(start(0));
    }

    /// Hands everything over to the engine. The veneer calls it after process().
    void finish() noexcept {
        commit();
        raw_.emitted += emitted_;
        raw_.filtered += filtered_;
    }

  private:
    std::size_t frame_bytes() const noexcept { return header_bytes_ + delimiter_bytes_; }

    void close(char *record_end) {
        if (header_bytes_ != 0)
            write_header(static_cast<std::size_t>(record_end - at_) - header_bytes_);
        if (delimiter_bytes_ == 1) {
            *record_end = static_cast<char>(*delimiter_);
        } else if (delimiter_bytes_ > 1) {
            std::memcpy(record_end, delimiter_, delimiter_bytes_);
        }
        at_ = record_end + delimiter_bytes_;
    }

    void write_header(std::size_t length) {
        if (length > UINT32_MAX)
            throw std::length_error("the result exceeds a 32-bit frame length");
        for (std::size_t i = 0; i < u32_header_bytes; ++i) {
            at_[i] = static_cast<char>(length >> (8 * i));
        }
    }

    void commit() noexcept {
        if (at_ != begin_)
            raw_.commit(&raw_, static_cast<std::uint64_t>(at_ - begin_));
        begin_ = at_ = end_ = nullptr;
    }

    void grow(std::size_t bytes) {
        commit();
        const std::size_t size = std::max(next_reserve_, bytes);
        begin_ = reinterpret_cast<char *>(raw_.reserve(&raw_, size));
        if (begin_ == nullptr)
            throw std::bad_alloc();
        at_ = begin_;
        end_ = begin_ + size;
        next_reserve_ = growth_;
    }

    gm_output &raw_;
    const std::uint8_t *delimiter_;
    std::size_t delimiter_bytes_;
    std::size_t header_bytes_;
    std::size_t next_reserve_; // at least so much next time
    std::size_t growth_;       // when a reservation turned out too small
    char *begin_ = nullptr;    // of the reservation
    char *at_ = nullptr;       // behind the last finished record
    char *end_ = nullptr;      // of the reservation
    std::uint64_t emitted_ = 0;
    std::uint64_t filtered_ = 0;
    std::uint64_t failed_ = 0;
};

namespace detail {

template <class Payload>
struct State {
    Host host;
    Payload payload;
};

template <class Payload>
Payload make_payload(std::string_view config, Host host) {
    if constexpr (std::is_constructible_v<Payload, std::string_view, Host>) {
        return Payload(config, host);
    } else if constexpr (std::is_constructible_v<Payload, std::string_view>) {
        return Payload(config);
    } else {
        return Payload();
    }
}

/// Runs `body` and turns whatever it throws into an explanation; true when nothing was thrown.
template <class Body>
bool guarded(Host host, Body &&body) noexcept {
    try {
        body();
        return true;
    } catch (const std::bad_alloc &) {
        host.explain("out of memory");
    } catch (const std::exception &error) {
        host.explain(error.what());
    } catch (...) {
        host.explain("an exception that is no std::exception");
    }
    return false;
}

template <class Payload>
void *create(const char *config, const gm_host *raw) noexcept {
    const Host host(raw);
    State<Payload> *state = nullptr;
    guarded(host, [&] {
        const std::string_view text(config == nullptr ? "" : config);
        state = new State<Payload>{host, make_payload<Payload>(text, host)};
    });
    return state;
}

template <class Payload>
int process(void *raw_state, const gm_batch *raw_batch, gm_output *raw_output) noexcept {
    auto &state = *static_cast<State<Payload> *>(raw_state);
    const bool done = guarded(state.host, [&] {
        const Batch batch(*raw_batch);
        Output output(*raw_output, batch);
        state.payload.process(batch, output);
        output.finish();
    });
    return done ? GM_OK : GM_FAIL_BATCH;
}

template <class Payload>
void destroy(void *state) noexcept {
    delete static_cast<State<Payload> *>(state);
}

} // namespace detail

/// The ABI's description of the plugin class `Payload`.
template <class Payload>
constexpr gm_plugin describe(const char *name, std::uint64_t flags) noexcept {
    return {
        GM_PLUGIN_ABI_VERSION,     sizeof(gm_plugin),        name, flags, &detail::create<Payload>,
        &detail::process<Payload>, &detail::destroy<Payload>};
}

} // namespace gristmill::plugin

/// Exports the class `Payload` as the plugin of this shared object.
#define GRISTMILL_PLUGIN(Payload, name, flags)                                                     \
    GM_PLUGIN_EXPORT constinit const struct gm_plugin gm_plugin =                                  \
        ::gristmill::plugin::describe<Payload>(name, flags)

#endif
