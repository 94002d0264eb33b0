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

// `machine`: see TopologySource::parse.
Topology read(const std::string &machine) {
    Result<Topology> topology = [&] {
        const GilRelease released;
        return read_topology(TopologySource::parse(machine));
    }();
    return value_or_raise(std::move(topology));
}

py::dict planned(std::optional<std::uint32_t> workers, const std::string &nodes, bool smt,
                 const std::string &machine) {
    const EngineOptions options{workers, value_or_raise(NodeRequest::parse(nodes)), smt};
    value_or_raise(validate(options));
    return plan_fields(value_or_raise(make_plan(read(machine), options)));
}

} // namespace

void bind_topology(py::module_ &module) {
    using namespace py::literals;
    module.def(
        "topology", [](const py::bytes &machine) { return topology_fields(read(machine)); },
        "machine"_a);
    module.def(
        "plan",
        [](std::optional<std::uint32_t> workers, const std::string &nodes, bool smt,
           const py::bytes &machine) { return planned(workers, nodes, smt, machine); },
        "workers"_a, "nodes"_a, "smt"_a, "machine"_a);
}

} // namespace gristmill::python
