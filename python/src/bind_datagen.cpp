// Record sets, written to files.
#include <cerrno>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "generate.hpp"
#include "gil.hpp"
#include "manifest.hpp"

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
        const GilRelease released;
        return datagen::generate(spec, path, [&](std::uint64_t done, std::uint64_t bytes) {
            return watch.go_on(done, bytes);
        });
    }();
    watch.rethrow();
    if (failed)
        raise_generate(*failed, path);
}

// Reading a file or its manifest failed; what is read but found wrong is no exception here.
[[noreturn]] void raise_read(const datagen::GenerateError &failed, const std::string &path) {
    if (failed.error_number == ENOMEM)
        raise({ErrorKind::memory, "the machine has no memory to read '" + path + "'"});
    Error error;
    error.kind = ErrorKind::source;
    error.message = failed.what;
    error.path = failed.path.empty() ? path : failed.path;
    error.os_errno = failed.error_number;
    raise(error);
}

py::dict fields_of(const datagen::Manifest &manifest) {
    using namespace py::literals;
    return py::dict("name"_a = name_of(manifest.set), "stream"_a = name_of(manifest.stream),
                    "seed"_a = manifest.seed, "malformed_pct"_a = manifest.malformed_pct,
                    "large_documents"_a = manifest.large_documents,
                    "range"_a = py::make_tuple(manifest.range.begin, manifest.range.end),
                    "records"_a = manifest.records, "valid"_a = manifest.valid,
                    "bytes"_a = manifest.bytes, "xxh3_128"_a = manifest.xxh3_128,
                    "compress"_a = name_of(manifest.compression),
                    "file_bytes"_a = manifest.file_bytes);
}

// The fields of the manifest, or what is wrong with it.
py::object read_manifest(const std::string &path) {
    datagen::Manifest manifest;
    const auto failed = datagen::read_manifest(path, manifest);
    if (failed && failed->error_number != 0)
        raise_read(*failed, path);
    return failed ? py::object(text_of(failed->what)) : py::object(fields_of(manifest));
}

// How the file differs from its manifest; empty when it does not.
py::object verify(const std::string &path, const py::object &progress) {
    Watch watch(progress);
    const auto failed = [&] {
        const GilRelease released;
        return datagen::verify(path, [&](std::uint64_t records, std::uint64_t bytes) {
            return watch.go_on(records, bytes);
        });
    }();
    watch.rethrow();
    if (failed && failed->error_number != 0)
        raise_read(*failed, path);
    return text_of(failed ? failed->what : std::string());
}

} // namespace

void bind_datagen(py::module_ &module) {
    using namespace py::literals;
    module.def("generate", &generate, "set"_a, "path"_a, "records"_a, "seed"_a,
               "malformed_pct"_a, "stream"_a, "range"_a, "threads"_a, "compression"_a,
               "large_documents"_a, "progress"_a);
    module.def("read_manifest", &read_manifest, "path"_a);
    module.def("verify", &verify, "path"_a, "progress"_a);
}

} // namespace gristmill::python
