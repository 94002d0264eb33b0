// What a user may ask of an engine and of a run. Plain data; `validate` says what is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/hosting.hpp>
#include <gristmill/report.hpp>

namespace gristmill {

// Order of the results: `index` = that of the input, `none` = as batches finish.
enum class Order : std::uint8_t { index, none };

// What happens to a record that fails. `raise`: the run ends with the error of the lowest failing
// record; `skip`: it is counted; `collect`: it is counted and described in Results::errors.
enum class OnError : std::uint8_t { raise, skip, collect };

// Where the payload runs: in processes of its own, which may crash without harm, or in threads of
// this one.
enum class Isolation : std::uint8_t { process, thread };

// How records lie in the input.
struct Framing {
    enum class Kind : std::uint8_t { delimiter, fixed, u32le };
    Kind kind = Kind::delimiter;
    std::string delimiter = "\n";   // kind delimiter: any bytes, at least one
    std::uint64_t record_bytes = 0; // kind fixed: > 0

    friend bool operator==(const Framing &, const Framing &) = default;
};

// Which nodes to use: all the machine has, the first N, those listed, or N logical nodes dealt
// out over whatever CPUs there are.
struct NodeRequest {
    enum class Kind : std::uint8_t { automatic, count, list, logical };
    Kind kind = Kind::automatic;
    std::uint32_t count = 0;           // kinds count and logical: > 0
    std::vector<std::uint32_t> list{}; // kind list: numbers of the operating system

    // Reads "auto", "N", "A,B,C" or "@N".
    static Result<NodeRequest> parse(const std::string &text);
};

struct EngineOptions {
    std::optional<std::uint32_t> workers{}; // none: one for each CPU we may use; 0: the caller works
    NodeRequest nodes{};
    bool smt = true; // use SMT siblings too, after all physical cores
    NurseryLaunch hosted{}; // for HostedPayload
};

struct RunOptions {
    Order order = Order::index;
    Framing framing{};
    std::optional<std::uint64_t> batch_records{}; // exactly so many, except a source's last batch
    std::optional<std::uint64_t> batch_bytes{};   // target, cut at a record end
    std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
    OnError on_error = OnError::raise;
    std::string errors_to{};                   // path of the dead letters (JSONL); empty: none
    std::optional<std::uint64_t> max_errors{}; // with skip or collect
    std::uint64_t memory_bytes = std::uint64_t{512} << 20; // in flight: half input, half output

    Isolation isolation = Isolation::process; // with workers = 0 the caller's thread works anyway
    std::uint32_t retries = 2;    // of a whole batch whose worker died, before its records go one by one
    std::uint64_t timeout_ns = 0; // longest time without progress in a worker process; 0: any

    std::uint32_t batches_per_worker = 0; // a worker process is replaced after so many; 0: never

    // Called by the thread that called the engine, every 100 ms and after each signal; true stops
    // the run with ErrorKind::interrupted. May be empty.
    std::function<bool()> interrupted{};

    // Called by the same thread about ten times a second, and once at the end. May be empty.
    std::function<void(const RunProgress &)> progress{};

    // Tests only: bytes that one read asks for at most, 0 = no limit.
    std::uint64_t test_read_bytes = 0;
};

// Most workers that one engine may have.
inline constexpr std::uint32_t kWorkersMax = 4096;
inline constexpr std::uint32_t kNodesMax = 1024;

// Smallest RunOptions::memory_bytes for so many workers (0 counts as one).
std::uint64_t memory_bytes_min(std::uint32_t workers);

// ErrorKind::invalid_option with a message that names the option, as the Python face spells it.
Result<void> validate(const EngineOptions &options);
Result<void> validate(const RunOptions &options, std::uint32_t workers);

} // namespace gristmill
