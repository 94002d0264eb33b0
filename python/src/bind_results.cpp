// Results: sequences of records that lie in the engine's own memory.
#include <cstring>
#include <span>

#include <pybind11/pybind11.h>

#include <gristmill/engine.hpp>

#include "bindings.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "gil.hpp"

namespace gristmill::python {

namespace {

// The bytes of one batch, read-only, for as long as anybody looks at them.
struct BatchBuffer {
    py::object results; // keeps the memory
    std::span<const std::byte> data;

    py::buffer_info view() const {
        auto *bytes = const_cast<std::byte *>(data.data());
        const auto size = static_cast<py::ssize_t>(data.size());
        return {bytes, 1, py::format_descriptor<std::uint8_t>::format(), 1, {size}, {1}, true};
    }
};

// The engine counts the output's records when it is first asked how many they are, which takes a
// look at every byte: not with the GIL.
std::uint64_t size(const Results &results) {
    const GilRelease released;
    return results.size();
}

py::bytes bytes_of(std::span<const std::byte> data) {
    return {reinterpret_cast<const char *>(data.data()), data.size()};
}

// Records first, first + step, ...; the caller keeps them within the results.
py::list records(const Results &results, std::int64_t first, std::int64_t step,
                 std::size_t count) {
    py::list list(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t at = first + static_cast<std::int64_t>(i) * step;
        if (at < 0 || static_cast<std::uint64_t>(at) >= results.size())
            throw py::index_error("record index out of range");
        PyList_SET_ITEM(list.ptr(), static_cast<py::ssize_t>(i),
                        bytes_of(results[static_cast<std::uint64_t>(at)]).release().ptr());
    }
    return list;
}

py::bytes record(const Results &results, std::uint64_t index) {
    if (index >= results.size())
        throw py::index_error("record index out of range");
    return bytes_of(results[index]);
}

BatchBuffer batch(const py::object &self, std::size_t index) {
    const auto &batches = self.cast<const Results &>().batches();
    if (index >= batches.size())
        throw py::index_error("batch index out of range");
    return {self, batches[index].data};
}

py::bytes whole(const Results &results) {
    PyObject *bytes =
        PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(results.byte_size()));
    if (bytes == nullptr)
        throw py::error_already_set();
    auto kept = py::reinterpret_steal<py::bytes>(bytes);
    char *to = PyBytes_AS_STRING(bytes);
    const GilRelease released; // nobody else knows the object yet
    results.copy_to({reinterpret_cast<std::byte *>(to), results.byte_size()});
    return kept;
}

void write(const Results &results, const std::string &path) {
    Result<void> written = [&] {
        const GilRelease released;
        return results.write(path);
    }();
    value_or_raise(std::move(written));
}

} // namespace

void bind_results(py::module_ &module) {
    using namespace py::literals;
    py::class_<BatchBuffer>(module, "BatchBuffer", py::buffer_protocol())
        .def_buffer(&BatchBuffer::view);

    py::class_<Results>(module, "Results")
        .def("__len__", &size)
        .def("record", &record, "index"_a)
        .def("records", &records, "first"_a, "step"_a, "count"_a)
        .def("batch_count",
             [](const Results &results) {
                 size(results);
                 return results.batches().size();
             })
        .def("batch", &batch, "index"_a)
        .def("byte_size", &Results::byte_size)
        .def("to_bytes", &whole)
        .def("write", &write, "path"_a)
        .def("report",
             [](const Results &results) {
                 size(results);
                 return report_fields(results.report());
             })
        .def("errors", [](const Results &results) { return failures_list(results.errors()); });
}

} // namespace gristmill::python
