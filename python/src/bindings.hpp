// What the module is made of: one function for each topic.
#pragma once

#include <pybind11/pybind11.h>

namespace gristmill::python {

namespace py = pybind11;

void bind_options(py::module_ &module);
void bind_results(py::module_ &module);
void bind_stream(py::module_ &module); // before bind_engine
void bind_engine(py::module_ &module);
void bind_topology(py::module_ &module);
void bind_datagen(py::module_ &module);
void bind_worker(py::module_ &module);

} // namespace gristmill::python
