#include "errors.hpp"

#include <pybind11/pybind11.h>

#include "conversions.hpp"

namespace gristmill::python {

namespace {

const char *name_of(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::invalid_option:
        return "invalid_option";
    case ErrorKind::unsupported:
        return "unsupported";
    case ErrorKind::source:
        return "source";
    case ErrorKind::record:
        return "record";
    case ErrorKind::too_many_errors:
        return "too_many_errors";
    case ErrorKind::plugin:
        return "plugin";
    case ErrorKind::output:
        return "output";
    case ErrorKind::crashed:
        return "crashed";
    case ErrorKind::timeout:
        return "timeout";
    case ErrorKind::memory:
        return "memory";
    case ErrorKind::accounting:
        return "accounting";
    case ErrorKind::interrupted:
        return "interrupted";
    case ErrorKind::system:
        break;
    }
    return "system";
}

} // namespace

void raise(const Error &error) {
    const char *kind = error.plugin_load ? "plugin_load" : name_of(error.kind);
    const py::object path = error.path.empty() ? py::none() : path_of(error.path);
    const py::object os_errno =
        error.os_errno == 0 ? py::object(py::none()) : py::object(py::int_(error.os_errno));
    const py::object record =
        error.record ? py::object(failure_fields(*error.record)) : py::object(py::none());
    const py::object exception = py::module_::import("gristmill.errors")
                                     .attr("from_core")(kind, text_of(error.message), path,
                                                        os_errno, record, error.out_of_memory);
    PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
    throw py::error_already_set();
}

} // namespace gristmill::python
