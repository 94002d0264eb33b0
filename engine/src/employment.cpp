#include "employment.hpp"

#include <filesystem>
#include <utility>

#include "build_id.hpp"
#include "os/process.hpp"

namespace gristmill {

namespace {

// The worker program lies beside the code that asks for it, where it was installed, or where it was
// built.
Result<std::string> find_worker_program() {
    static const char here = 0;
    if (const char *named = std::getenv("GRISTMILL_WORKER"); named && *named) {
        if (os::is_executable(named))
            return std::string(named);
        Error error;
        error.message = std::string("GRISTMILL_WORKER names '") + named +
                        "', which is no program; unset it, or name gristmill-worker";
        error.path = named;
        return error;
    }
    const std::string candidates[] = {os::directory_of_code(&here) + "/gristmill-worker",
                                      GRISTMILL_WORKER_INSTALLED, GRISTMILL_WORKER_BUILT};
    for (const std::string &path : candidates)
        if (os::is_executable(path))
            return path;
    Error error;
    error.message = "the program for worker processes is missing: there is no '" + candidates[0] +
                    "'; install gristmill anew, or use isolation='thread'";
    error.path = candidates[0];
    return error;
}

class HostedLauncher final : public work::NurseryLauncher {
  public:
    explicit HostedLauncher(NurseryLaunch launch) : launch_(std::move(launch)) {}

    Result<os::ChildProcess> launch(std::span<const int> inherited) override {
        Result<std::int32_t> pid =
            launch_.launch(std::vector<int>(inherited.begin(), inherited.end()));
        if (!pid)
            return pid.error();
        return os::ChildProcess(*pid);
    }
    bool again() const override { return launch_.again; }
    bool pins_to_cpu() const override { return launch_.pin_to_cpu; }
    std::string name() const override { return "an interpreter, or a copy of this process"; }

  private:
    NurseryLaunch launch_;
};

template <class Pool>
Result<Pool *> keep(std::unique_ptr<Pool> &place, Result<std::unique_ptr<Pool>> started) {
    if (!started)
        return started.error();
    place = std::move(*started);
    return place.get();
}

} // namespace

Result<work::WorkerHost *> Hosts::threads(const Plan &plan) {
    if (threads_)
        return static_cast<work::WorkerHost *>(threads_.get());
    Result<work::WorkerPool *> kept = keep(threads_, work::WorkerPool::start(plan));
    if (!kept)
        return kept.error();
    return static_cast<work::WorkerHost *>(*kept);
}

Result<work::ProcessPool *> Hosts::native(const Plan &plan) {
    if (native_)
        return native_.get();
    Result<std::string> program = find_worker_program();
    if (!program)
        return program.error();
    auto launcher = std::make_unique<work::ProgramLauncher>(
        std::vector<std::string>{*program, "--nursery", build_id()});
    return keep(native_, work::ProcessPool::start(plan, std::move(launcher)));
}

Result<work::ProcessPool *> Hosts::hosted(const Plan &plan, const NurseryLaunch &launch) {
    if (hosted_)
        return hosted_.get();
    if (!launch)
        return Error{ErrorKind::invalid_option, "this engine has no workers for such a payload"};
    return keep(hosted_,
                work::ProcessPool::start(plan, std::make_unique<HostedLauncher>(launch)));
}

work::PayloadDescription describe(const Payload &payload) {
    if (const auto *plugin = std::get_if<PluginSpec>(&payload)) {
        // Workers have a working directory of their own.
        std::error_code ignored;
        const std::string path = std::filesystem::absolute(plugin->path, ignored).string();
        return {work::PayloadKind::plugin, {path, plugin->symbol, plugin->config}};
    }
    if (const auto *command = std::get_if<CommandSpec>(&payload))
        return {work::PayloadKind::command, command->arguments};
    return {work::PayloadKind::python, std::get<HostedPayload>(payload).texts};
}

Result<Employed> make_local(Employed employed, const Payload &payload, const RunOptions &run,
                            work::PluginCache &plugins) {
    if (const auto *plugin = std::get_if<PluginSpec>(&payload)) {
        Result<const work::PluginLibrary *> library = plugins.get(*plugin);
        if (!library)
            return library.error();
        employed.made =
            std::make_unique<work::PluginFactory>(**library, plugin->config, run.framing);
    } else if (const auto *command = std::get_if<CommandSpec>(&payload)) {
        employed.made = std::make_unique<work::CommandFactory>(command->arguments);
    } else {
        employed.borrowed = std::get<HostedPayload>(payload).local;
        if (!employed.borrowed)
            return Error{ErrorKind::invalid_option,
                         "a Python function cannot run in threads of an interpreter with a GIL; "
                         "use isolation='process'"};
    }
    return Result<Employed>(std::move(employed));
}

} // namespace gristmill
