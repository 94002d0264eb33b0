// Ctrl-C and other signals while the engine works.
#pragma once

#include <optional>

#include <pybind11/pybind11.h>

namespace gristmill::python {

// Lets Python's signal handlers run while the GIL is released, and keeps what one of them raises.
//
// Threads: the one that called the engine. Handlers only ever run in Python's main thread;
// elsewhere check() finds nothing.
class SignalCheck {
  public:
    SignalCheck() = default;
    SignalCheck(const SignalCheck &) = delete;
    SignalCheck &operator=(const SignalCheck &) = delete;

    // Runs what handlers are due; true when one raised. Takes the GIL for it.
    bool check();

    // Raises what a handler raised, if one did. Needs the GIL.
    void rethrow();

  private:
    std::optional<pybind11::error_already_set> raised_;
};

} // namespace gristmill::python
