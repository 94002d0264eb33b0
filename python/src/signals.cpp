#include "signals.hpp"

namespace gristmill::python {

bool SignalCheck::check() {
    const pybind11::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0)
        return false;
    raised_.emplace();
    return true;
}

void SignalCheck::rethrow() {
    if (raised_)
        throw pybind11::error_already_set(*raised_);
}

} // namespace gristmill::python
