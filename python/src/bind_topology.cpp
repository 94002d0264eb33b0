// The machine, and what an engine would make of it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gristmill/topology.hpp>

#include "bindings.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "gil.hpp"

namespace gristmill::python {

namespace {

Result<Topology> discover() {
    const GilRelease released;
    return discover_topology(TopologyDetail::full);
}

py::dict planned(std::optional<std::uint32_t> workers, const std::string &nodes, bool smt) {
    const EngineOptions options{workers, value_or_raise(NodeRequest::parse(nodes)), smt};
    value_or_raise(validate(options));
    return plan_fields(value_or_raise(make_plan(value_or_raise(discover()), options)));
}

} // namespace

void bind_topology(py::module_ &module) {
    using namespace py::literals;
    module.def("topology", [] { return topology_fields(value_or_raise(discover())); });
    module.def("plan", &planned, "workers"_a, "nodes"_a, "smt"_a);
}

} // namespace gristmill::python
