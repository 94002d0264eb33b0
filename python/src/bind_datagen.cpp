// Record sets, written to files.
#include <cerrno>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "errors.hpp"
#include "generate.hpp"

namespace gristmill::python {

namespace {

[[noreturn]] void raise_generate(const datagen::GenerateError &failed, const std::string &path) {
    Error error;
    error.message = failed.what.empty() ? "the records cannot be generated" : failed.what;
    error.os_errno = failed.error_number;
    switch (failed.error_number) {
    case EINVAL:
        error.kind = ErrorKind::invalid_option;
        break;
    case ENOMEM:
        error.kind = ErrorKind::memory;
        break;
    default:
        error.kind = ErrorKind::output;
        error.path = path;
    }
    raise(error);
}

// What the progress callback of Python, or a signal handler, raised.
class Watch {
  public:
    explicit Watch(const py::object &progress) : progress_(progress) {}

    bool go_on(std::uint64_t records, std::uint64_t bytes) {
        const py::gil_scoped_acquire gil;
        try {
            if (PyErr_CheckSignals() != 0)
                throw py::error_already_set();
            if (!progress_.is_none())
                progress_(records, bytes);
            return true;
        } catch (const py::error_already_set &error) {
            raised_.emplace(error);
            return false;
        }
    }

    void rethrow() {
        if (raised_)
            throw py::error_already_set(*raised_);
    }

  private:
    const py::object &progress_;
    std::optional<py::error_already_set> raised_;
};

// What Python has checked already; a name that is none of ours is a slip of the face.
template <class Value>
Value known(const std::optional<Value> &value, const std::string &name) {
    if (!value)
        raise({ErrorKind::invalid_option, "there is no '" + name + "' to generate"});
    return *value;
}

void generate(const std::string &set, const std::string &path, std::uint64_t records,
              std::optional<std::uint64_t> seed, double malformed_pct, const std::string &stream,
              std::optional<std::pair<std::uint64_t, std::uint64_t>> range, std::uint32_t threads,
              const std::string &compression, bool large_documents, const py::object &progress) {
    datagen::GenerateSpec spec;
    spec.set = known(datagen::record_set_of(set), set);
    spec.stream = known(datagen::stream_of(stream), stream);
    spec.records = records;
    spec.seed = seed;
    spec.malformed_pct = malformed_pct;
    if (range)
        spec.range = datagen::Range{range->first, range->second};
    spec.threads = threads;
    spec.compression = known(datagen::compression_of(compression), compression);
    spec.large_documents = large_documents;
    Watch watch(progress);
    const auto failed = [&] {
        const py::gil_scoped_release released;
        return datagen::generate(spec, path, [&](std::uint64_t done, std::uint64_t bytes) {
            return watch.go_on(done, bytes);
        });
    }();
    watch.rethrow();
    if (failed)
        raise_generate(*failed, path);
}

} // namespace

void bind_datagen(py::module_ &module) {
    using namespace py::literals;
    module.def("generate", &generate, "set"_a, "path"_a, "records"_a, "seed"_a,
               "malformed_pct"_a, "stream"_a, "range"_a, "threads"_a, "compression"_a,
               "large_documents"_a, "progress"_a);
}

} // namespace gristmill::python
