// Puts into words what a plugin did when the kernel stops it.
#pragma once

#include <memory>
#include <string>

#include "output_record.hpp"
#include "records.hpp"

namespace gristmill::workshop {

/// The call into the plugin that a thread is in. While it lives, a fault of this thread is put down
/// to it, and an overrun of the step's time as well.
class WatchedCall {
  public:
    /// `what` such as "process() of record 3"; the others may be null and outlive this.
    WatchedCall(std::string what, const RecordRange *range, const InputBlock *input,
                const OutputRecord *output);
    ~WatchedCall();
    WatchedCall(const WatchedCall &) = delete;
    WatchedCall &operator=(const WatchedCall &) = delete;

    const std::string what;
    const RecordRange *const range;
    const InputBlock *const input;
    const OutputRecord *const output;
};

/// Lets the handlers run even when a thread's stack is used up; one per thread, on that thread.
class FaultStack {
  public:
    FaultStack();
    ~FaultStack();
    FaultStack(const FaultStack &) = delete;
    FaultStack &operator=(const FaultStack &) = delete;

  private:
    std::unique_ptr<char[]> memory_;
};

/// From now on a fatal signal first adds a violation of the topic "fault" to the ledger, then does
/// what it always does.
void report_faults();

} // namespace gristmill::workshop
