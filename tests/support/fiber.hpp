// A second stack to run on: what simulated actors are made of. Understood by AddressSanitizer and
// ThreadSanitizer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <ucontext.h>

namespace gristmill::test {

// One stack that runs one body after the other, or the stack of the thread itself.
//
// Threads: one; all fibers that switch to each other belong to the same thread.
class Fiber {
  public:
    struct OfThread {};
    explicit Fiber(OfThread); // stands for the thread that makes it
    Fiber();                  // has a stack of its own
    ~Fiber();
    Fiber(const Fiber &) = delete;
    Fiber &operator=(const Fiber &) = delete;

    // What runs when somebody switches here next. The body never returns: it ends by switching
    // away for good. A body that was left in the middle is forgotten, nothing in it is destroyed.
    void begin(std::function<void()> body);

    // Leaves `from`, which must be the running one, and goes on in `to`.
    static void switch_to(Fiber &from, Fiber &to);

  private:
    static void enter(unsigned high, unsigned low);
    void arrive();

    std::unique_ptr<std::byte[]> stack_;
    ucontext_t context_{};
    std::function<void()> body_;
    void *sanitizer_fiber_ = nullptr; // of ThreadSanitizer
    void *fake_stack_ = nullptr;      // of AddressSanitizer
    const void *bottom_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace gristmill::test
