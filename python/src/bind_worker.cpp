// Worker processes that run Python: their nursery, forked from this process or a fresh interpreter.
#include <array>
#include <malloc.h>
#include <unistd.h>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "os/process.hpp"
#include "python_payload.hpp"
#include "work/nursery.hpp"
#include "work/shared_block.hpp"
#include "work/worker_process.hpp"

namespace gristmill::python {

namespace {

constexpr int kNoMmapBelowBytes = 1 << 28;

Result<std::unique_ptr<work::PayloadFactory>>
make_factory(const work::PayloadDescription &description, const Framing &framing) {
    if (description.kind != work::PayloadKind::python)
        return Error{ErrorKind::plugin, "these workers run Python functions only"};
    return std::unique_ptr<work::PayloadFactory>(
        std::make_unique<PythonFactory>(description.texts, framing));
}

// Forks as the interpreter wants it. The GIL is held, in parent and child.
pid_t fork_interpreter() {
    PyOS_BeforeFork();
    const pid_t pid = os::fork_process();
    if (pid == 0)
        PyOS_AfterFork_Child();
    else
        PyOS_AfterFork_Parent();
    return pid;
}

// A worker's life. Python runs only inside the payload; the GIL is free for threads of the user's
// own while the worker waits.
void live(work::RunState state, std::uint32_t worker, std::uint16_t incarnation) {
    // Otherwise every large object costs page faults anew.
    ::mallopt(M_MMAP_THRESHOLD, kNoMmapBelowBytes);
    ::mallopt(M_TRIM_THRESHOLD, kNoMmapBelowBytes);
    try {
        py::module_::import("gristmill._worker").attr("begin")(worker, incarnation);
    } catch (py::error_already_set &error) {
        error.discard_as_unraisable("starting a gristmill worker");
    }
    {
        const GilRelease released;
        work::live_as_worker(state, worker, incarnation, make_factory);
    }
    try {
        py::module_::import("gristmill._worker").attr("flush")();
    } catch (py::error_already_set &) {
    }
    os::leave(0);
}

// The nursery's life, in a process of one thread that finds its descriptors in place.
[[noreturn]] void serve_nursery(pid_t engine) {
    os::reset_signals();
    Result<work::SharedBlock> block = work::SharedBlock::attach(work::kBlockFd);
    if (!block)
        os::leave(1);
    const work::RunState state = block->state();
    work::NurseryParts parts;
    parts.fork = fork_interpreter;
    parts.live = [state](std::uint32_t worker, std::uint16_t incarnation) {
        live(state, worker, incarnation);
    };
    work::run_nursery(state, engine, parts);
    os::leave(0);
}

std::int32_t fork_nursery(const std::vector<int> &inherited) {
    const pid_t engine = os::this_process();
    const pid_t pid = fork_interpreter();
    if (pid != 0) {
        if (pid < 0)
            raise({ErrorKind::system, "this process cannot be forked", {}, errno});
        return pid;
    }
    try {
        os::begin_group(); // Ctrl-C is for the caller alone
        os::place_descriptors(inherited);
        os::move_stdin_to_null();
        py::module_::import("gristmill._worker").attr("become_nursery")();
        serve_nursery(engine);
    } catch (...) {
    }
    os::leave(1);
}

std::int32_t spawn_nursery(const std::vector<std::string> &arguments,
                           const std::vector<int> &inherited) {
    os::ChildProcess child = value_or_raise(os::spawn(arguments, inherited));
    return child.release();
}

void serve_fresh_nursery() {
    os::close_other_descriptors(work::kControlFd, work::kLastInheritedFd);
    os::keep_from_programs(work::kControlFd, work::kLastInheritedFd);
    serve_nursery(os::parent_of_this());
}

} // namespace

void bind_worker(py::module_ &module) {
    using namespace py::literals;
    module.def("fork_nursery", &fork_nursery, "inherited"_a);
    module.def("spawn_nursery", &spawn_nursery, "arguments"_a, "inherited"_a);
    module.def("serve_fresh_nursery", &serve_fresh_nursery);
}

} // namespace gristmill::python
