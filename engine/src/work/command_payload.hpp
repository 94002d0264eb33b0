// Commands as payloads: one process for each batch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "work/payload.hpp"

namespace gristmill::work {

// A batch goes to the program's standard input, its standard output is the batch's output. A
// program that does not end with status 0 fails the batch, with the end of its standard error.
class CommandFactory final : public PayloadFactory {
  public:
    explicit CommandFactory(std::vector<std::string> arguments)
        : arguments_(std::move(arguments)) {}

    // ErrorKind::plugin when there is no such program.
    Result<std::unique_ptr<Payload>> make(const WorkerIdentity &identity,
                                          const WorkerSignals &signals) override;

  private:
    std::vector<std::string> arguments_;
};

} // namespace gristmill::work
