// The engine: its calls, without the GIL while they last.
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <unistd.h>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gristmill/engine.hpp>

#include "bindings.hpp"
#include "conversions.hpp"
#include "engine_call.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "item_puller.hpp"
#include "os/unique_fd.hpp"
#include "signals.hpp"
#include "stream_handle.hpp"

namespace gristmill::python {

namespace {

// A source that keeps a descriptor of its own: the object it came from may be closed at any time.
struct OwnedSource {
    Source source;
    os::UniqueFd descriptor{};
};
using SourceList = std::vector<const OwnedSource *>;

Sources plain(const SourceList &sources) {
    Sources list;
    for (const OwnedSource *owned : sources)
        list.push_back(owned->source);
    return list;
}

// Calls the engine without the GIL. What a signal handler raised meanwhile goes before the
// engine's own error, which only says that it was interrupted.
// `rethrow` raises what the source of the records has raised, if that is why the run has failed.
template <class Body>
auto call(const LocalWork &work, RunOptions options, bool interruptible,
          const py::object &progress, Body &&body,
          const std::function<void()> &rethrow = {}) {
    SignalCheck signals;
    ProgressTeller teller(progress);
    if (interruptible || !progress.is_none())
        options.interrupted = [&] { return teller.raised() || (interruptible && signals.check()); };
    if (!progress.is_none())
        options.progress = [&](const RunProgress &now) { teller.tell(now); };
    auto result = [&] {
        const GilRelease released;
        return body(options);
    }();
    signals.rethrow();
    if (work.interrupt())
        throw py::error_already_set(*work.interrupt());
    teller.rethrow();
    if (rethrow && !result.ok() && result.error().kind == ErrorKind::source)
        rethrow();
    return value_or_raise(std::move(result));
}

// An engine of this process.
//
// Threads: any; the Python side lets one call in at a time, close() included.
// Owns:    the engine, until close(). A forked child has its memory but not its threads, so there
//          the engine is left as it is instead of being destroyed.
class EngineHandle {
  public:
    // `launcher`: starts the process that workers of Python functions are forked from, see
    // gristmill._launcher.
    EngineHandle(EngineOptions options, py::object launcher)
        : launcher_(std::move(launcher)), process_(::getpid()) {
        options.hosted.again = true;
        options.hosted.launch = [this](const std::vector<int> &inherited) {
            return launch(inherited);
        };
        Result<Engine> engine = [&] {
            const GilRelease released;
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
        const GilRelease released;
        engine_.reset();
    }

    Results map(const Work &work, const SourceList &sources, const RunOptions &options,
                bool interruptible, const py::object &progress) {
        LocalWork local(work, options);
        return call(local, options, interruptible, progress, [&](const RunOptions &run) {
            return engine_->map(local.payload(), plain(sources), run);
        });
    }

    Results map_items(const Work &work, py::object iterator, const RunOptions &options,
                      bool interruptible, const py::object &progress) {
        LocalWork local(work, options);
        ItemPuller puller(std::move(iterator));
        const ItemFeed feed = puller.feed();
        return call(
            local, options, interruptible, progress,
            [&](const RunOptions &run) { return engine_->map(local.payload(), feed, run); },
            [&] { puller.rethrow(); });
    }

    py::tuple run_items(const Work &work, py::object iterator, const RunOptions &options,
                        bool interruptible, const py::object &progress) {
        LocalWork local(work, options);
        ItemPuller puller(std::move(iterator));
        const ItemFeed feed = puller.feed();
        const RunOutcome outcome = call(
            local, options, interruptible, progress,
            [&](const RunOptions &run) { return engine_->run(local.payload(), feed, run); },
            [&] { puller.rethrow(); });
        return py::make_tuple(report_fields(outcome.report), failures_list(outcome.errors));
    }

    py::tuple run(const Work &work, const SourceList &sources, const OutputTarget &output,
                  const RunOptions &options, bool interruptible, const py::object &progress) {
        LocalWork local(work, options);
        const RunOutcome outcome = call(local, options, interruptible, progress, [&](const RunOptions &run) {
            return engine_->run(local.payload(), plain(sources), output, run);
        });
        return py::make_tuple(report_fields(outcome.report), failures_list(outcome.errors));
    }

    std::unique_ptr<StreamHandle> stream(const Work &work, const SourceList &sources,
                                         const RunOptions &options, bool interruptible,
                                         py::object progress) {
        auto handle = std::make_unique<StreamHandle>(work, options, std::move(progress));
        handle->open(*engine_, plain(sources), interruptible);
        return handle;
    }

    std::unique_ptr<StreamHandle> stream_items(const Work &work, std::shared_ptr<ItemPump> items,
                                               const RunOptions &options, bool interruptible,
                                               py::object progress) {
        auto handle = std::make_unique<StreamHandle>(work, options, std::move(progress));
        handle->open(*engine_, std::move(items), interruptible);
        return handle;
    }

    py::dict plan() const { return plan_fields(engine_->plan()); }

  private:
    Result<std::int32_t> launch(const std::vector<int> &inherited) {
        const py::gil_scoped_acquire gil;
        try {
            return launcher_.attr("launch")(inherited).cast<std::int32_t>();
        } catch (py::error_already_set &error) {
            return Error{ErrorKind::system,
                         std::string("worker processes cannot be started: ") + error.what()};
        }
    }

    py::object launcher_;
    std::unique_ptr<Engine> engine_;
    const pid_t process_;
};

std::unique_ptr<EngineHandle> make_engine(std::optional<std::uint32_t> workers,
                                          const std::string &nodes, bool smt,
                                          py::object launcher) {
    return std::make_unique<EngineHandle>(
        EngineOptions{workers, value_or_raise(NodeRequest::parse(nodes)), smt},
        std::move(launcher));
}

Work plugin_work(std::string path, std::string symbol, std::string config) {
    return {PluginSpec{std::move(path), std::move(symbol), std::move(config)}};
}
Work command_work(std::vector<std::string> arguments) {
    return {CommandSpec{std::move(arguments)}};
}
Work function_work(std::vector<std::string> texts) { return {HostedPayload{std::move(texts)}}; }

OwnedSource source_of_path(const std::string &path) { return {Source(path)}; }

OwnedSource source_of_descriptor(int descriptor, const std::string &name,
                                 std::optional<std::uint64_t> offset, const py::bytes &buffered) {
    OwnedSource owned{Source::from_descriptor(-1, name)};
    owned.descriptor = os::UniqueFd(::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!owned.descriptor.valid())
        raise({ErrorKind::source, "cannot read '" + name + "': " + std::strerror(errno), name,
               errno});
    owned.source.descriptor = owned.descriptor.get();
    owned.source.offset = offset;
    owned.source.buffered = std::string(buffered);
    return owned;
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

    py::class_<OwnedSource>(module, "Source")
        .def_static("path", &source_of_path, "path"_a)
        .def_static("descriptor", &source_of_descriptor, "descriptor"_a, "name"_a, "offset"_a,
                    "buffered"_a)
        .def_property_readonly("file", [](const OwnedSource &owned) -> py::object {
            if (owned.descriptor.valid())
                return py::int_(owned.descriptor.get());
            return py::bytes(owned.source.path);
        });

    py::class_<Work>(module, "Work")
        .def_static("plugin", &plugin_work, "path"_a, "symbol"_a, "config"_a)
        .def_static("command", &command_work, "arguments"_a)
        .def_static("function", &function_work, "texts"_a);

    py::class_<EngineHandle>(module, "Engine")
        .def(py::init(&make_engine), "workers"_a, "nodes"_a, "smt"_a, "launcher"_a)
        .def("map", &EngineHandle::map, "work"_a, "sources"_a, "options"_a, "interruptible"_a, "progress"_a)
        .def("map_items", &EngineHandle::map_items, "work"_a, "iterator"_a, "options"_a,
             "interruptible"_a, "progress"_a)
        .def("run_items", &EngineHandle::run_items, "work"_a, "iterator"_a, "options"_a,
             "interruptible"_a, "progress"_a)
        .def("run", &EngineHandle::run, "work"_a, "sources"_a, "output"_a, "options"_a,
             "interruptible"_a, "progress"_a)
        .def("stream", &EngineHandle::stream, "work"_a, "sources"_a, "options"_a,
             "interruptible"_a, "progress"_a, py::keep_alive<0, 1>())
        .def("stream_items", &EngineHandle::stream_items, "work"_a, "items"_a, "options"_a,
             "interruptible"_a, "progress"_a, py::keep_alive<0, 1>())
        .def("plan", &EngineHandle::plan)
        .def("close", &EngineHandle::close);
}

} // namespace gristmill::python
