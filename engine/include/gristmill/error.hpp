// Errors of the engine: what kinds there are, what each carries, and Result<T>.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gristmill {

// What went wrong, as the user has to react to it. The Python face has one exception class for
// each kind.
enum class ErrorKind : std::uint8_t {
    invalid_option,  // an option, or a combination of options, that makes no sense
    unsupported,     // a thing of the design that this version does not do yet
    source,          // the input cannot be read, or is not what its framing says
    record,          // a record failed under on_error="raise"
    too_many_errors, // more records failed than max_errors allows
    plugin,          // the plugin does not load, breaks the ABI, or failed a whole batch
    output,          // the output cannot be written
    crashed,         // a worker process died, and its work could not be done by another one
    timeout,         // a payload made no progress for longer than it may
    memory,          // the machine has no room for what was asked
    accounting,      // the engine lost count of a record: a bug of the engine, never the user's
    interrupted,     // the caller asked to stop
    system           // the kernel refused something else
};

// One record that failed.
struct RecordFailure {
    std::string source;             // path, or name, of the source
    std::uint64_t byte_offset = 0;  // of the record within its source
    std::uint64_t record_index = 0; // within the run, in input order; see index_known
    bool index_known = true;        // false under order="none" until all before it are retired
    std::string type;               // class of the error, "RecordError" for plugins
    std::string reason;             // what the payload said
    std::string excerpt;            // the first bytes of the record, at most 256
    std::string details{};          // a traceback, for people; may be empty
    std::string original{};         // the exception itself, packed by the binding that raised it
};

struct Error {
    ErrorKind kind = ErrorKind::system;
    std::string message;   // whole sentence, names the thing and the way out
    std::string path = {}; // the file concerned, empty when there is none
    int os_errno = 0;      // errno of the call that failed, 0 when none did
    std::optional<RecordFailure> record = {}; // the record that is to blame, if one is
    bool out_of_memory = false; // kind crashed: the kernel ended the worker for want of memory
    std::string details = {};   // a traceback, for people
    bool plugin_load = false;   // kind plugin: its file does not load, or is no plugin
};

// A value, or the error that kept it from being made. Never both, never empty.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    // Precondition: ok().
    T &value() & { return std::get<0>(state_); }
    const T &value() const & { return std::get<0>(state_); }
    T &&value() && { return std::get<0>(std::move(state_)); }
    T *operator->() { return &value(); }
    const T *operator->() const { return &value(); }
    T &operator*() & { return value(); }
    const T &operator*() const & { return value(); }

    // Precondition: !ok().
    Error &error() { return std::get<1>(state_); }
    const Error &error() const { return std::get<1>(state_); }

  private:
    std::variant<T, Error> state_;
};

// Success without a value, or an error.
template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    bool ok() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    Error &error() { return *error_; }
    const Error &error() const { return *error_; }

  private:
    std::optional<Error> error_;
};

} // namespace gristmill
