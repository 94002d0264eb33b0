// Runs of the engine through its public face, and what every one of them must satisfy.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gristmill/engine.hpp>

#include "support/scratch.hpp"

namespace gristmill::e2e {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

// How often to do what is done many times: less where each time takes longer.
constexpr std::size_t scaled(std::size_t times) {
    return kThreadSanitizer ? times / 10 : kSanitized ? times / 4 : times;
}

PluginSpec bundled(const std::string &name);                          // of plugins/
PluginSpec test_plugin(const std::string &name, std::string config = {}); // of tests/e2e/plugins/

// Workers and nodes of an engine, nodes as in the option, "1" or "@4"; and where its workers live.
struct Crew {
    std::uint32_t workers = 1;
    std::string nodes = "1";
    Isolation isolation = Isolation::process;
    friend auto operator<=>(const Crew &, const Crew &) = default;
};
std::ostream &operator<<(std::ostream &to, const Crew &crew);
Engine make_engine(const Crew &crew);
RunOptions in(const Crew &crew, RunOptions options = {}); // with its isolation

// Engines that stay for the tests of one process.
class EnginePool {
  public:
    Engine &get(const Crew &crew);

  private:
    std::map<Crew, std::unique_ptr<Engine>> engines_;
};

enum class Way : std::uint8_t { map, run };

// What a run gave, whichever way it went.
struct Outcome {
    std::string bytes;                // of the whole, as written to a file
    std::vector<std::string> records; // way map only
    Report report;
    std::vector<RecordFailure> errors;
};

Outcome outcome_of(const Results &results);
std::string text_of(std::span<const std::byte> bytes);

// Runs to the end; way run writes to a file of its own folder. A failed run is a failed test, and
// gives an empty outcome.
Outcome complete(Engine &engine, Way way, const PluginSpec &plugin,
                 const std::vector<std::string> &paths, const RunOptions &options);

// The same for a run that is expected to end in an error.
Error failing(Engine &engine, Way way, const PluginSpec &plugin,
              const std::vector<std::string> &paths, const RunOptions &options);

// The accounts of a complete run over `paths` with so many input records.
void expect_accounted(const Report &report, const std::vector<std::string> &paths,
                      std::uint64_t records);

std::string sorted_lines(const std::string &bytes, const std::string &delimiter = "\n");
RunOptions with_batch_bytes(std::uint64_t bytes);
RunOptions with_batch_records(std::uint64_t records);
RunOptions delimited_by(const std::string &delimiter);

// Seed of a random test: GRISTMILL_SEED, else a fresh one. Printed, so that it can be replayed.
std::uint64_t random_seed();

} // namespace gristmill::e2e
