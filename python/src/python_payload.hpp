// Python functions as payloads of the engine.
#pragma once

#include <memory>
#include <optional>

#include <pybind11/pybind11.h>

#include "work/payload.hpp"

namespace gristmill::python {

namespace py = pybind11;

using Interrupt = std::optional<py::error_already_set>;

// Makes payloads of what gristmill._worker knows about the texts of a HostedPayload. Takes the GIL
// where it needs it, and lets it go between batches.
//
// Threads: any.
class PythonFactory final : public work::PayloadFactory {
  public:
    // `interrupt`: where a KeyboardInterrupt is kept that a payload raises in the thread that called
    // the engine; null for worker processes, which get none.
    PythonFactory(std::vector<std::string> texts, Framing framing, Interrupt *interrupt = nullptr)
        : texts_(std::move(texts)), framing_(std::move(framing)), interrupt_(interrupt) {}

    Result<std::unique_ptr<work::Payload>> make(const work::WorkerIdentity &identity,
                                                const work::WorkerSignals &signals) override;

  private:
    const std::vector<std::string> texts_;
    const Framing framing_;
    Interrupt *const interrupt_;
};

} // namespace gristmill::python
