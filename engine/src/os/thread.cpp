#include "os/thread.hpp"

#include <algorithm>
#include <csignal>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "os/os_error.hpp"

namespace gristmill::os {

struct Thread::Body {
    std::string name;
    std::optional<std::uint32_t> cpu;
    std::function<void()> run;
};

namespace {

constexpr std::size_t kStackBytes = std::size_t{8} << 20;

std::size_t stack_bytes() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return kStackBytes;
    return std::max<std::size_t>(kStackBytes, limit.rlim_cur);
}

void pin(std::uint32_t cpu) {
    cpu_set_t *set = CPU_ALLOC(cpu + 1);
    if (!set)
        return;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(cpu, bytes, set);
    ::pthread_setaffinity_np(::pthread_self(), bytes, set);
    CPU_FREE(set);
}

} // namespace

Thread::Thread(std::unique_ptr<Body> body, unsigned long handle)
    : body_(std::move(body)), handle_(handle) {}
Thread::Thread(Thread &&other) noexcept = default;

Thread::~Thread() {
    if (body_)
        ::pthread_join(handle_, nullptr);
}

Result<Thread> Thread::start(const std::string &name, std::optional<std::uint32_t> cpu,
                             std::function<void()> run) {
    auto body = std::make_unique<Body>(Body{name.substr(0, 15), cpu, std::move(run)});
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, stack_bytes());
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    // A fault's own signal cannot wait; profilers sample every thread.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
        sigdelset(&all, fault);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t handle{};
    const int refused = ::pthread_create(
        &handle, &attributes,
        [](void *argument) -> void * {
            auto *self = static_cast<Body *>(argument);
            ::pthread_setname_np(::pthread_self(), self->name.c_str());
            if (self->cpu)
                pin(*self->cpu);
            self->run();
            return nullptr;
        },
        body.get());
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_attr_destroy(&attributes);
    if (refused != 0)
        return errno_error(ErrorKind::system, refused, "cannot start a worker thread");
    return Thread(std::move(body), handle);
}

} // namespace gristmill::os
