// Leaves by the wrong door, or does not leave at all.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

#include "faulty.hpp"

namespace {

using namespace faulty;

int null_pointer(State &, const gm_batch &, gm_output &) {
    *reinterpret_cast<volatile int *>(zero) = 1;
    return GM_OK;
}

int divide_by_size(State &state, const gm_batch &batch, gm_output &out) {
    const std::uint64_t bytes = batch.record_count == 1 ? batch.size - 1 : 1;
    seen = static_cast<std::uint8_t>(100 / bytes); // an empty record has none
    return hand_on(state, batch, out);
}

int one_record_crashes(State &state, const gm_batch &batch, gm_output &out) {
    for (std::uint64_t i = 0; batch.delimiter_size == 1 && i < batch.record_count; ++i) {
        if (record(batch, i) == "poison")
            ::raise(SIGILL);
    }
    return hand_on(state, batch, out);
}

int abort_with_words(State &, const gm_batch &, gm_output &) {
    std::fputs("assertion failed: x > 0\n", stderr);
    std::abort();
}

int kill_itself(State &, const gm_batch &, gm_output &) { return ::kill(::getpid(), SIGKILL); }

[[gnu::noinline]] int recursion(int depth) {
    volatile char frame[4096];
    frame[0] = static_cast<char>(depth);
    return depth < 0 ? frame[0] : recursion(depth + 1) + frame[0];
}

int endless_recursion(State &, const gm_batch &, gm_output &) { return recursion(zero); }

int call_exit(State &, const gm_batch &, gm_output &) { std::exit(0); }

int call_quick_exit(State &, const gm_batch &, gm_output &) { ::_exit(3); }

int loop(State &, const gm_batch &, gm_output &) {
    for (;;)
        seen = 1;
}

int throw_error(State &, const gm_batch &, gm_output &) {
    throw std::runtime_error("no such luck");
}

int throw_number(State &, const gm_batch &, gm_output &) { throw 7; }

int print(State &state, const gm_batch &batch, gm_output &out) {
    std::puts("here I am");
    return hand_on(state, batch, out);
}

int leave_child(State &state, const gm_batch &batch, gm_output &out) {
    if (::fork() == 0) {
        for (;;)
            ::pause();
    }
    return hand_on(state, batch, out);
}

constexpr Fault faults[] = {
    {"null-pointer", &null_pointer},
    {"divide-by-size", &divide_by_size},
    {"one-record-crashes", &one_record_crashes},
    {"abort", &abort_with_words},
    {"kill", &kill_itself},
    {"endless-recursion", &endless_recursion},
    {"exit", &call_exit},
    {"quick-exit", &call_quick_exit},
    {"loop", &loop},
    {"throw-error", &throw_error},
    {"throw-number", &throw_number},
    {"print", &print},
    {"leave-child", &leave_child},
};

} // namespace

FAULTY_PLUGIN(faults);
