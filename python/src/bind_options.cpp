// Options, as the Python side hands them over: checked for their types, not yet for their sense.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gristmill/engine.hpp>

#include "bindings.hpp"
#include "errors.hpp"

namespace gristmill::python {

namespace {

Error bad_option(const std::string &message) { return {ErrorKind::invalid_option, message}; }

Order order_named(const std::string &name) {
    if (name == "index")
        return Order::index;
    if (name == "none")
        return Order::none;
    raise(bad_option("order='" + name + "'"));
}

Isolation isolation_named(const std::string &name) {
    if (name == "process")
        return Isolation::process;
    if (name == "thread")
        return Isolation::thread;
    raise(bad_option("isolation='" + name + "'"));
}

OnError on_error_named(const std::string &name) {
    if (name == "raise")
        return OnError::raise;
    if (name == "skip")
        return OnError::skip;
    if (name == "collect")
        return OnError::collect;
    raise(bad_option("on_error='" + name + "'"));
}

Framing framing_named(const std::string &name, const std::string &delimiter,
                      std::uint64_t record_bytes) {
    if (name == "delimiter")
        return {Framing::Kind::delimiter, delimiter, 0};
    if (name == "u32le")
        return {Framing::Kind::u32le, {}, 0};
    if (name == "fixed")
        return {Framing::Kind::fixed, {}, record_bytes};
    raise(bad_option("framing='" + name + "'"));
}

RunOptions make_run_options(const std::string &order, const std::string &framing,
                            const std::string &delimiter, std::uint64_t record_bytes,
                            std::optional<std::uint64_t> batch_records,
                            std::optional<std::uint64_t> batch_bytes, std::uint64_t max_record,
                            const std::string &on_error, const std::string &errors_to,
                            std::optional<std::uint64_t> max_errors, std::uint64_t memory,
                            const std::string &isolation, std::uint32_t retries,
                            double timeout_seconds, std::uint32_t batches_per_worker) {
    RunOptions options;
    options.order = order_named(order);
    options.framing = framing_named(framing, delimiter, record_bytes);
    options.batch_records = batch_records;
    options.batch_bytes = batch_bytes;
    options.max_record_bytes = max_record;
    options.on_error = on_error_named(on_error);
    options.errors_to = errors_to;
    options.max_errors = max_errors;
    options.memory_bytes = memory;
    options.isolation = isolation_named(isolation);
    options.retries = retries;
    options.timeout_ns = static_cast<std::uint64_t>(timeout_seconds * 1e9);
    options.batches_per_worker = batches_per_worker;
    return options;
}

} // namespace

void bind_options(py::module_ &module) {
    using namespace py::literals;
    module.attr("WORKERS_MAX") = kWorkersMax;

    py::class_<RunOptions>(module, "RunOptions")
        .def(py::init(&make_run_options), py::kw_only(), "order"_a, "framing"_a, "delimiter"_a,
             "record_bytes"_a, "batch_records"_a, "batch_bytes"_a, "max_record"_a, "on_error"_a,
             "errors_to"_a, "max_errors"_a, "memory"_a, "isolation"_a, "retries"_a, "timeout_seconds"_a,
             "batches_per_worker"_a);
}

} // namespace gristmill::python
