#include "fault_report.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ucontext.h>
#include <utility>

#include <gristmill/plugin.h>

#include "ledger.hpp"

namespace gristmill::workshop {

namespace {

constexpr std::size_t fault_stack_bytes = 128 * 1024;
constexpr std::uintptr_t null_page_bytes = 64 * 1024;

thread_local const WatchedCall *current = nullptr;

unsigned long long number(std::uint64_t value) { return value; }

bool is_write([[maybe_unused]] const void *context) noexcept {
#if defined(__x86_64__)
    constexpr greg_t write_bit = 2;
    return static_cast<const ucontext_t *>(context)->uc_mcontext.gregs[REG_ERR] & write_bit;
#else
    return false;
#endif
}

bool is_stack_overflow([[maybe_unused]] const void *context,
                       [[maybe_unused]] std::uintptr_t at) noexcept {
    constexpr std::uintptr_t frame_bytes = 64 * 1024;
    [[maybe_unused]] const auto *machine = &static_cast<const ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
    const auto top = static_cast<std::uintptr_t>(machine->gregs[REG_RSP]);
#elif defined(__aarch64__)
    const auto top = static_cast<std::uintptr_t>(machine->sp);
#else
    const std::uintptr_t top = 0;
#endif
    return at + frame_bytes > top && at < top + frame_bytes;
}

std::uint64_t record_at(const RecordRange &range, std::uint64_t byte) noexcept {
    const auto &starts = range.set->starts;
    const auto first = starts.begin() + static_cast<std::ptrdiff_t>(range.first);
    const auto last = starts.begin() + static_cast<std::ptrdiff_t>(range.last);
    const auto next = std::upper_bound(first, last, starts[range.first] + byte);
    return static_cast<std::uint64_t>(next - starts.begin()) - 1;
}

// What an access to an address in or near the batch's bytes means.
void describe_input(const WatchedCall &call, const void *address, bool write, char *to,
                    std::size_t room) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto begin = reinterpret_cast<std::uintptr_t>(call.input->data());
    const std::uint64_t size = call.input->size();
    const char *does = write ? "writes to" : "touches";
    if (at < begin) {
        std::snprintf(to, room, "%s memory in front of the batch, at byte -%llu", does,
                      number(begin - at));
    } else if (at - begin < size) {
        std::snprintf(
            to, room,
            "writes to its input, at byte %llu of the batch (record %llu of the %s); never "
            "write to gm_batch.data",
            number(at - begin), number(record_at(*call.range, at - begin)),
            call.range->set->name.c_str());
    } else if (at - begin < size + GM_BATCH_PADDING) {
        std::snprintf(to, room, "writes behind its input, to the padding at byte %llu",
                      number(at - begin));
    } else {
        std::snprintf(
            to, room,
            "%s byte %llu of a batch of %llu bytes; no more than %u bytes (GM_BATCH_PADDING) "
            "behind a batch may be read",
            write ? "writes to" : "reads", number(at - begin), number(size), GM_BATCH_PADDING);
    }
}

void describe_access(const siginfo_t &info, const void *context, char *to,
                     std::size_t room) noexcept {
    const void *address = info.si_addr;
    char buffer[300];
    if (current->input != nullptr && current->input->is_near(address)) {
        describe_input(*current, address, is_write(context), to, room);
        return;
    }
    const char *fault = current->output == nullptr
                            ? nullptr
                            : current->output->fault_at(address, buffer, sizeof buffer);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (fault != nullptr)
        std::snprintf(to, room, "%s", fault);
    else if (is_stack_overflow(context, at))
        std::snprintf(to, room,
                      "uses up its stack: too deep a recursion, or too large a local variable");
    else
        std::snprintf(to, room, "crashes with SIG%s at address %p%s", sigabbrev_np(info.si_signo),
                      address, at < null_page_bytes ? " (a null pointer)" : "");
}

extern "C" void on_fatal_signal(int signal, siginfo_t *info, void *context) {
    const bool access = (signal == SIGSEGV || signal == SIGBUS) && info->si_code > 0;
    char text[900];
    char what[500];
    if (current == nullptr) {
        std::snprintf(text, sizeof text,
                      "crashes with SIG%s outside of any call, in a thread or a "
                      "signal handler of its own",
                      sigabbrev_np(signal));
    } else {
        if (access)
            describe_access(*info, context, what, sizeof what);
        else
            std::snprintf(what, sizeof what, "crashes with SIG%s (%s)", sigabbrev_np(signal),
                          sigdescr_np(signal));
        std::snprintf(text, sizeof text, "%s %s", current->what.c_str(), what);
    }
    Ledger::shared().add(Verdict::violation, "fault", text);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

} // namespace

WatchedCall::WatchedCall(std::string what_, const RecordRange *range_, const InputBlock *input_,
                         const OutputRecord *output_)
    : what(std::move(what_)), range(range_), input(input_), output(output_) {
    Ledger::shared().begin(what);
    current = this;
}

WatchedCall::~WatchedCall() { current = nullptr; }

FaultStack::FaultStack() : memory_(new char[fault_stack_bytes]) {
    stack_t stack{};
    stack.ss_sp = memory_.get();
    stack.ss_size = fault_stack_bytes;
    ::sigaltstack(&stack, nullptr);
}

FaultStack::~FaultStack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
}

void report_faults() {
    Ledger::shared(); // made now, not within a handler
    struct sigaction action {};
    action.sa_sigaction = &on_fatal_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        ::sigaction(signal, &action, nullptr);
}

} // namespace gristmill::workshop
