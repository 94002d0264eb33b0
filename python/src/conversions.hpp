// Plain data of the engine as plain objects of Python. All need the GIL.
#pragma once

#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include <gristmill/error.hpp>
#include <gristmill/report.hpp>
#include <gristmill/topology.hpp>

namespace gristmill::python {

namespace py = pybind11;

// Text for people; bytes that are no UTF-8 appear as \xNN.
py::str text_of(const std::string &bytes);

// A path, as os.fsdecode() gives it.
py::object path_of(const std::string &bytes);

// The arguments of gristmill.errors.RecordError that follow the message.
py::tuple failure_fields(const RecordFailure &failure);
py::list failures_list(const std::vector<RecordFailure> &failures);

// The fields of gristmill.Report, but for `errors`.
py::dict report_fields(const Report &report);

// The fields of gristmill.topology.Plan and gristmill.topology.Topology.
py::dict plan_fields(const Plan &plan);
py::dict topology_fields(const Topology &topology);

} // namespace gristmill::python
