#include "work/command_payload.hpp"

#include <utility>

#include "os/command.hpp"
#include "os/process.hpp"

namespace gristmill::work {

namespace {

class CommandPayload final : public Payload {
  public:
    CommandPayload(std::string path, const std::vector<std::string> &arguments,
                   const WorkerSignals &signals)
        : path_(std::move(path)), arguments_(arguments), signals_(signals) {}

    PayloadOutcome process(const PayloadBatch &batch, store::OutputArea &output,
                           FailureListener &) override {
        os::CommandStreams streams;
        streams.input = batch.data;
        streams.room = [&](std::uint64_t bytes) { return output.reserve(bytes); };
        streams.keep = [&](std::uint64_t bytes) { output.commit(bytes); };
        streams.running = [&](std::int32_t group) {
            signals_.command_group.store(static_cast<std::uint32_t>(group));
        };
        streams.stop = [&] { return signals_.cancelled.load() != 0; };
        const Result<os::CommandEnd> end = os::run_command(path_, arguments_, streams);
        if (!end)
            return failed(end.error().message);
        if (end->no_memory)
            return failed("there is no memory for the output of " + named());
        if (end->stopped)
            return failed("the run was given up");
        if (end->status == 0) {
            PayloadOutcome outcome;
            outcome.emitted = batch.record_count;
            return outcome;
        }
        std::string said = end->standard_error;
        while (!said.empty() && (said.back() == '\n' || said.back() == ' '))
            said.pop_back();
        return failed(named() + " ended with " + os::describe_exit(end->status) +
                      (said.empty() ? "" : ": " + said));
    }

    bool wants_whole_batches() const override { return true; }

  private:
    std::string named() const { return "command '" + arguments_.front() + "'"; }

    PayloadOutcome failed(std::string reason) const {
        PayloadOutcome outcome;
        outcome.batch_failed = true;
        outcome.worth_a_retry = true;
        outcome.reason = std::move(reason);
        return outcome;
    }

    const std::string path_;
    const std::vector<std::string> &arguments_;
    const WorkerSignals signals_;
};

} // namespace

Result<std::unique_ptr<Payload>> CommandFactory::make(const WorkerIdentity &,
                                                      const WorkerSignals &signals) {
    if (arguments_.empty())
        return Error{ErrorKind::plugin, "a command needs at least the name of its program"};
    Result<std::string> path = os::find_program(arguments_.front());
    if (!path)
        return path.error();
    return std::unique_ptr<Payload>(
        std::make_unique<CommandPayload>(std::move(*path), arguments_, signals));
}

} // namespace gristmill::work
