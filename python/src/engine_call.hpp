// What calls of the engine have in common.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <pybind11/pybind11.h>

#include <gristmill/engine.hpp>

#include "python_payload.hpp"

namespace gristmill::python {

namespace py = pybind11;

// What a call is about: a plugin, a command, or a Python function.
struct Work {
    Payload payload;
};

// A Python function that this process may have to run itself.
class LocalWork {
  public:
    LocalWork(const Work &work, const RunOptions &options) : payload_(work.payload) {
        auto *hosted = std::get_if<HostedPayload>(&payload_);
        if (!hosted)
            return;
        factory_ = std::make_unique<PythonFactory>(hosted->texts, options.framing, &interrupt_);
        hosted->local = factory_.get();
    }
    const Payload &payload() const { return payload_; }
    const Interrupt &interrupt() const { return interrupt_; }

  private:
    Payload payload_;
    Interrupt interrupt_;
    std::unique_ptr<PythonFactory> factory_;
};

// Tells a Python callable how far the run is. What it raises is for rethrow(), and ends the run.
class ProgressTeller {
  public:
    explicit ProgressTeller(const py::object &callable) : callable_(callable) {}

    void tell(const RunProgress &now) {
        const py::gil_scoped_acquire gil;
        if (raised_)
            return;
        try {
            callable_(now.records, now.failed, now.input_bytes, now.retries, now.workers_busy,
                      now.seconds);
        } catch (const py::error_already_set &error) {
            raised_.emplace(error);
        }
    }
    bool raised() const { return raised_.has_value(); }
    void rethrow() {
        if (raised_)
            throw py::error_already_set(*raised_);
    }

  private:
    const py::object &callable_;
    std::optional<py::error_already_set> raised_;
};

} // namespace gristmill::python
