// The engine: its calls, without the GIL while they last.
#include <memory>
#include <unistd.h>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gristmill/engine.hpp>

#include "bindings.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "signals.hpp"

namespace gristmill::python {

namespace {

using Paths = std::vector<std::string>;

// Calls the engine without the GIL. What a signal handler raised meanwhile goes before the
// engine's own error, which only says that it was interrupted.
template <class Body>
auto call(const std::string &plugin_path, RunOptions options, bool interruptible, Body &&body) {
    SignalCheck signals;
    if (interruptible)
        options.interrupted = [&signals] { return signals.check(); };
    auto result = [&] {
        const py::gil_scoped_release released;
        return body(options);
    }();
    signals.rethrow();
    return value_or_raise(std::move(result), plugin_path);
}

// An engine of this process.
//
// Threads: any; the Python side lets one call in at a time, close() included.
// Owns:    the engine, until close(). A forked child has its memory but not its threads, so there
//          the engine is left as it is instead of being destroyed.
class EngineHandle {
  public:
    explicit EngineHandle(const EngineOptions &options) : process_(::getpid()) {
        Result<Engine> engine = [&] {
            const py::gil_scoped_release released;
            return Engine::create(options);
        }();
        engine_ = std::make_unique<Engine>(value_or_raise(std::move(engine)));
    }
    EngineHandle(const EngineHandle &) = delete;
    EngineHandle &operator=(const EngineHandle &) = delete;
    ~EngineHandle() { close(); }

    void close() {
        if (::getpid() != process_) {
            static_cast<void>(engine_.release());
            return;
        }
        const py::gil_scoped_release released;
        engine_.reset();
    }

    Results map(const PluginSpec &plugin, const Paths &paths, const RunOptions &options,
                bool interruptible) {
        return call(plugin.path, options, interruptible, [&](const RunOptions &run) {
            return engine_->map(plugin, paths, run);
        });
    }

    py::tuple run(const PluginSpec &plugin, const Paths &paths, const OutputTarget &output,
                  const RunOptions &options, bool interruptible) {
        const RunOutcome outcome =
            call(plugin.path, options, interruptible,
                 [&](const RunOptions &run) { return engine_->run(plugin, paths, output, run); });
        return py::make_tuple(report_fields(outcome.report), failures_list(outcome.errors));
    }

    py::dict plan() const { return plan_fields(engine_->plan()); }

  private:
    std::unique_ptr<Engine> engine_;
    const pid_t process_;
};

std::unique_ptr<EngineHandle> make_engine(std::optional<std::uint32_t> workers,
                                          const std::string &nodes, bool smt) {
    return std::make_unique<EngineHandle>(
        EngineOptions{workers, value_or_raise(NodeRequest::parse(nodes)), smt});
}

OutputTarget to_path(const std::string &path) {
    return {OutputTarget::Kind::path, path, -1};
}

OutputTarget to_descriptor(int descriptor) {
    return {OutputTarget::Kind::descriptor, {}, descriptor};
}

} // namespace

void bind_engine(py::module_ &module) {
    using namespace py::literals;
    py::class_<OutputTarget>(module, "OutputTarget")
        .def_static("nowhere", [] { return OutputTarget{}; })
        .def_static("path", &to_path, "path"_a)
        .def_static("descriptor", &to_descriptor, "descriptor"_a);

    py::class_<EngineHandle>(module, "Engine")
        .def(py::init(&make_engine), "workers"_a, "nodes"_a, "smt"_a)
        .def("map", &EngineHandle::map, "plugin"_a, "paths"_a, "options"_a, "interruptible"_a)
        .def("run", &EngineHandle::run, "plugin"_a, "paths"_a, "output"_a, "options"_a,
             "interruptible"_a)
        .def("plan", &EngineHandle::plan)
        .def("close", &EngineHandle::close);
}

} // namespace gristmill::python
