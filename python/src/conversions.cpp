#include "conversions.hpp"

namespace gristmill::python {

namespace {

template <class Values>
py::list list_of(const Values &values) {
    py::list list;
    for (const auto &value : values)
        list.append(value);
    return list;
}

py::dict node_fields(const NodeReport &node) {
    py::dict fields;
    fields["node"] = node.node;
    fields["workers"] = node.workers;
    fields["batches"] = node.batches;
    fields["records"] = node.records;
    fields["batches_home"] = node.batches_home;
    fields["batches_head"] = node.batches_head;
    fields["batches_stolen"] = node.batches_stolen;
    fields["busy_seconds"] = node.busy_seconds;
    fields["idle_seconds"] = node.idle_seconds;
    fields["memory_node"] =
        node.memory_node >= 0 ? py::object(py::int_(node.memory_node)) : py::object(py::none());
    fields["audited_bytes"] = node.audited_bytes;
    fields["audited_local_bytes"] = node.audited_local_bytes;
    return fields;
}

} // namespace

py::str text_of(const std::string &bytes) {
    PyObject *text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                                          "backslashreplace");
    if (text == nullptr)
        throw py::error_already_set();
    return py::reinterpret_steal<py::str>(text);
}

py::object path_of(const std::string &bytes) {
    PyObject *path =
        PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
    if (path == nullptr)
        throw py::error_already_set();
    return py::reinterpret_steal<py::object>(path);
}

py::tuple failure_fields(const RecordFailure &failure) {
    const py::object index =
        failure.index_known ? py::object(py::int_(failure.record_index)) : py::object(py::none());
    return py::make_tuple(path_of(failure.source), failure.byte_offset, index,
                          text_of(failure.reason), py::bytes(failure.excerpt),
                          text_of(failure.type), text_of(failure.details),
                          py::bytes(failure.original));
}

py::list failures_list(const std::vector<RecordFailure> &failures) {
    py::list list;
    for (const RecordFailure &failure : failures)
        list.append(failure_fields(failure));
    return list;
}

py::dict report_fields(const Report &report) {
    py::dict fields;
    fields["read"] = report.read;
    fields["emitted"] = report.emitted;
    fields["filtered"] = report.filtered;
    fields["failed"] = report.failed;
    fields["discarded"] = report.discarded;
    fields["output_records"] = report.output_records;
    fields["output_bytes"] = report.output_bytes;
    fields["input_bytes"] = report.input_bytes;
    fields["sources"] = report.sources;
    fields["batches"] = report.batches;
    fields["wall_seconds"] = report.wall_seconds;
    fields["cpu_seconds"] = report.cpu_seconds;
    fields["workers"] = report.workers;
    fields["batch_bytes_min"] = report.batch_bytes_min;
    fields["batch_bytes_mean"] = report.batch_bytes_mean;
    fields["batch_bytes_median"] = report.batch_bytes_median;
    fields["batch_bytes_max"] = report.batch_bytes_max;
    fields["overflow_batches"] = report.overflow_batches;
    fields["retries"] = report.retries;
    fields["worker_deaths"] = report.worker_deaths;
    fields["spool_slots"] = report.spool_slots;
    fields["spool_bytes_max"] = report.spool_bytes_max;
    fields["spool_bytes_punched"] = report.spool_bytes_punched;
    fields["spool_punches_failed"] = report.spool_punches_failed;
    fields["placement"] = report.placement;
    py::list nodes;
    for (const NodeReport &node : report.nodes)
        nodes.append(node_fields(node));
    fields["nodes"] = nodes;
    fields["text"] = text_of(report.to_string());
    return fields;
}

py::dict plan_fields(const Plan &plan) {
    py::list nodes;
    for (const PlannedNode &node : plan.nodes) {
        py::dict fields;
        fields["os_node"] = node.os_node;
        fields["cpus"] = list_of(node.cpus);
        fields["workers"] = node.workers;
        fields["memory_node"] =
            node.memory_node ? py::object(py::int_(*node.memory_node)) : py::object(py::none());
        fields["steal_order"] = list_of(node.steal_order);
        nodes.append(fields);
    }
    py::list workers;
    for (const PlannedWorker &worker : plan.workers) {
        py::dict fields;
        fields["node"] = worker.node;
        fields["cpu"] = worker.cpu;
        workers.append(fields);
    }
    py::dict fields;
    fields["nodes"] = nodes;
    fields["workers"] = workers;
    fields["reasons"] = list_of(plan.reasons);
    return fields;
}

py::dict topology_fields(const Topology &topology) {
    py::list cpus;
    for (const Cpu &cpu : topology.cpus) {
        py::dict fields;
        fields["os_index"] = cpu.os_index;
        fields["core"] = cpu.core;
        fields["smt_rank"] = cpu.smt_rank;
        fields["package"] = cpu.package;
        fields["node"] = cpu.node;
        fields["core_kind"] = cpu.core_kind;
        cpus.append(fields);
    }
    py::list nodes;
    for (const NumaNode &node : topology.nodes) {
        py::dict fields;
        fields["os_index"] = node.os_index;
        fields["memory_bytes"] = node.memory_bytes;
        fields["has_cpus"] = node.has_cpus;
        fields["memory_allowed"] = node.memory_allowed;
        fields["memory_kind"] = text_of(node.memory_kind);
        fields["distances"] = list_of(node.distances);
        nodes.append(fields);
    }
    py::dict fields;
    fields["cpus"] = cpus;
    fields["cpus_of_machine"] = topology.cpus_of_machine;
    fields["nodes"] = nodes;
    fields["distances_known"] = topology.distances_known;
    fields["cpu_quota"] = topology.cpu_quota;
    fields["cpu_quota_file"] = path_of(topology.cpu_quota_file);
    fields["l2_bytes"] = topology.l2_bytes;
    fields["l3_bytes"] = topology.l3_bytes;
    fields["l3_cpus"] = topology.l3_cpus;
    fields["origin"] = path_of(topology.origin);
    return fields;
}

} // namespace gristmill::python
