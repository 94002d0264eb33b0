#include "support/fiber.hpp"

#include <cstdint>
#include <cstdlib>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace gristmill::test {

namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
Fiber *came_from = nullptr; // whom the running fiber was switched to by

} // namespace

Fiber::Fiber(OfThread) {
#if defined(__SANITIZE_THREAD__)
    sanitizer_fiber_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber() : stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {
    bottom_ = stack_.get();
    bytes_ = kStackBytes;
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
    if (stack_ && sanitizer_fiber_)
        __tsan_destroy_fiber(sanitizer_fiber_);
#endif
}

void Fiber::begin(std::function<void()> body) {
    body_ = std::move(body);
    fake_stack_ = nullptr;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(stack_.get(), kStackBytes); // frames that were left are gone
#endif
#if defined(__SANITIZE_THREAD__)
    if (sanitizer_fiber_)
        __tsan_destroy_fiber(sanitizer_fiber_);
    sanitizer_fiber_ = __tsan_create_fiber(0);
#endif
    ::getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
                  static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
}

void Fiber::enter(unsigned high, unsigned low) {
    auto *self = reinterpret_cast<Fiber *>(std::uintptr_t{high} << 32 | low);
    self->arrive();
    self->body_();
    std::abort(); // a body switches away instead of returning
}

void Fiber::switch_to(Fiber &from, Fiber &to) {
    came_from = &from;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to.sanitizer_fiber_, 0);
#endif
    ::swapcontext(&from.context_, &to.context_);
    from.arrive();
}

void Fiber::arrive() {
#if defined(__SANITIZE_ADDRESS__)
    const void *bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &bytes);
    if (!came_from->stack_) { // the thread's own stack, which only the sanitizer knows
        came_from->bottom_ = bottom;
        came_from->bytes_ = bytes;
    }
#endif
}

} // namespace gristmill::test
