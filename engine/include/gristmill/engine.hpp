// The engine: a warm pool of workers that maps plugins over records, in input order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <gristmill/batch.hpp>
#include <gristmill/error.hpp>
#include <gristmill/hosting.hpp>
#include <gristmill/options.hpp>
#include <gristmill/report.hpp>
#include <gristmill/source.hpp>
#include <gristmill/topology.hpp>

namespace gristmill {

// A compiled payload, see plugin.h.
struct PluginSpec {
    std::string path{};                // of the shared object
    std::string symbol = "gm_plugin";  // of its `struct gm_plugin`
    std::string config{};              // handed to create()
};

// A program that gets each batch on its standard input, and whose standard output is the batch's.
struct CommandSpec {
    std::vector<std::string> arguments{}; // the program first, looked up in PATH
};

using Payload = std::variant<PluginSpec, CommandSpec, HostedPayload>;

// Where run() puts its output: nowhere, into a file, or to an open descriptor.
struct OutputTarget {
    enum class Kind : std::uint8_t { none, path, descriptor };
    Kind kind = Kind::none;
    std::string path{};  // kind path
    int descriptor = -1; // kind descriptor: written from its own position on, not closed
};

// Results of a map(): a sequence of output records, and the memory they live in. Movable; may
// outlive its Engine. Const members may be called from several threads at once.
class Results {
  public:
    Results(Results &&) noexcept;
    Results &operator=(Results &&) noexcept;
    ~Results();

    std::uint64_t size() const; // output records
    // Output record i (0 <= i < size()), without its delimiter or length header. Finding it scans
    // its batch once; the offsets are kept for the next call.
    std::span<const std::byte> operator[](std::uint64_t i) const;
    // Batches that gave output, in the order of the results.
    const std::vector<OutputBatch> &batches() const;
    // Bytes that belong to the whole: the batches joined, without the last delimiter when the
    // input lacked it too.
    std::uint64_t byte_size() const;
    // Copies byte_size() bytes; `to` is that long.
    void copy_to(std::span<std::byte> to) const;
    // Writes byte_size() bytes to a file, by way of a temporary name beside it.
    Result<void> write(const std::string &path) const;

    const Report &report() const;
    const std::vector<RecordFailure> &errors() const; // under OnError::collect, in retiring order

    struct State;
    explicit Results(std::unique_ptr<State> state);

  private:
    std::unique_ptr<State> state_;
};

// Output of a run that goes on, batch by batch. Input is read, and workers work, also between two
// calls of next(), as far as RunOptions::memory_bytes allows; what becomes of a worker that dies is
// seen to inside next(). The engine has no time for other runs until this is closed, or at its end.
//
// Threads: one at a time.
class Stream {
  public:
    Stream(Stream &&) noexcept;
    Stream &operator=(Stream &&) noexcept;
    ~Stream(); // closes it

    // The next batch that gave output; its data is valid until the next call, or close(). nullopt:
    // all is delivered, and the counts add up. An error ends the stream, when what came before it
    // was delivered. `interrupted`: as in RunOptions, for this call.
    Result<std::optional<OutputBatch>> next(const std::function<bool()> &interrupted = {});

    // Gives up what was not delivered yet. Returns when every worker has left the run; the second
    // time at once.
    void close();
    bool closed() const;

    // So far; at the end, of all. Output records are counted for functions and at the end only.
    Report report() const;
    // Under OnError::collect, at the end.
    const std::vector<RecordFailure> &errors() const;

    struct State;
    explicit Stream(std::unique_ptr<State> state);

  private:
    std::unique_ptr<State> state_;
};

// What run() leaves: the figures, and the failures under OnError::collect.
struct RunOutcome {
    Report report{};
    std::vector<RecordFailure> errors{};
};

// Workers, and the shared memory they work in.
//
// Threads: any; runs of one Engine queue. The calling thread feeds the workers and takes their
// output until the run has ended; with workers = 0 it does the work too.
class Engine {
  public:
    static Result<Engine> create(const EngineOptions &options);
    Engine(Engine &&) noexcept;
    Engine &operator=(Engine &&) noexcept;
    ~Engine(); // ends the workers

    const Plan &plan() const;

    // Maps a payload over the records of the sources and keeps the output in memory.
    Result<Results> map(const Payload &payload, const Sources &sources, const RunOptions &options);

    // The same over items of a language binding.
    Result<Results> map(const Payload &payload, const ItemFeed &items, const RunOptions &options);

    // map() with the output written, in order, to `output`. A regular file named by its path
    // appears under that name only when the run succeeded.
    Result<RunOutcome> run(const Payload &payload, const Sources &sources,
                           const OutputTarget &output, const RunOptions &options);

    // The output over items is thrown away.
    Result<RunOutcome> run(const Payload &payload, const ItemFeed &items,
                           const RunOptions &options);

    // map() with the output taken while the run goes on. The stream ends before the engine does.
    Result<Stream> stream(const Payload &payload, const Sources &sources,
                          const RunOptions &options);
    Result<Stream> stream(const Payload &payload, const ItemFeed &items,
                          const RunOptions &options);

  private:
    struct State;
    explicit Engine(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Version of this library, "MAJOR.MINOR.PATCH".
const char *version();

} // namespace gristmill
