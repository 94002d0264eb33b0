// What a step has found out, kept where it survives the death of the process that ran the step.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace gristmill::workshop {

enum class Verdict : std::uint8_t {
    violation, ///< of the plugin ABI
    note,      ///< worth knowing, allowed
};

struct Finding {
    Verdict verdict;
    std::string topic;
    std::string text;
};

/// Lies in memory that the tool shares with the child running a step, and has room for a fixed
/// number of findings, so that a signal handler may write to it.
///
/// Threads: add() and begin() any; all else the child's first thread, or the tool once the child is
/// gone.
class Ledger {
  public:
    /// Ends the tool when there is no memory.
    static Ledger &shared();

    void reset();

    /// One finding per topic is kept, the first: what goes wrong for one record often goes wrong
    /// for all. `topic` is a few letters that are never shown.
    void add(Verdict verdict, const char *topic, const char *text) noexcept;
    bool has(const char *topic) const noexcept;
    std::vector<Finding> findings() const;

    /// Says what is being done, for the case that it never ends.
    void begin(const std::string &doing);
    std::string doing() const { return doing_; }

    /// Says in a few words what the step has tried.
    void tried(const std::string &text) noexcept;
    std::string tried() const { return tried_; }

    /// The step reached its end; without this the plugin ended the process.
    void complete() noexcept { complete_.store(true); }
    bool completed() const noexcept { return complete_.load(); }

  private:
    static constexpr std::uint32_t room = 24;
    struct Entry {
        std::atomic<bool> written;
        Verdict verdict;
        char topic[24];
        char text[1000];
    };
    Entry entries_[room];
    std::atomic<std::uint32_t> used_;
    std::atomic<bool> complete_;
    char doing_[300];
    char tried_[300];
};

void violation(const char *topic, const std::string &text);
void note(const char *topic, const std::string &text);

/// Thrown where a step cannot go on, after the reason went to the ledger.
struct StepEnds {};

} // namespace gristmill::workshop
