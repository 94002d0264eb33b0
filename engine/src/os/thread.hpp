// Threads of our own, pinned to a CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gristmill/error.hpp>

namespace gristmill::os {

// A joined thread. Signals are blocked in it, so that handlers run in the caller's threads; its
// stack is at least as large as the main thread's default (8 MiB, or RLIMIT_STACK when larger).
class Thread {
  public:
    // `cpu`: the one to run on; pinning that the kernel refuses is ignored (containers do).
    static Result<Thread> start(const std::string &name, std::optional<std::uint32_t> cpu,
                                std::function<void()> body);
    Thread(Thread &&) noexcept;
    Thread &operator=(Thread &&) = delete;
    ~Thread(); // joins

  private:
    struct Body;
    Thread(std::unique_ptr<Body> body, unsigned long handle);
    std::unique_ptr<Body> body_;
    unsigned long handle_ = 0;
};

} // namespace gristmill::os
