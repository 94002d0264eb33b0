// The interpreter lock, let go while the engine works.
#pragma once

#include <pybind11/pybind11.h>

namespace gristmill::python {

// Like pybind11::gil_scoped_release, but survives the end of the interpreter: a daemon thread that asks
// for the lock then is ended by an unwinding of its stack, which must get out of this destructor.
class GilRelease {
  public:
    GilRelease() : state_(PyEval_SaveThread()) {}
    GilRelease(const GilRelease &) = delete;
    GilRelease &operator=(const GilRelease &) = delete;
    ~GilRelease() noexcept(false) { PyEval_RestoreThread(state_); }

  private:
    PyThreadState *state_;
};

} // namespace gristmill::python
