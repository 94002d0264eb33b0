// The identity, but for records that name what they do to their worker: segv, abort, exit, stack,
// trap, kill-self, stop-self, hang, flood. Others fail ("fail...") or are left out ("drop...");
// "tail..." leaves its record without a delimiter, once it was the last of its batch.
//
// Configuration: "create-dies", "create-hangs", "create-fails", or "once:PATH": only the first
// worker that comes to such a record and can remove the file PATH does it.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

#include <gristmill/plugin.h>

namespace {

volatile int sink = 0;

[[noreturn]] void sleep_for_ever() {
    const timespec pause{1000, 0};
    for (;;)
        ::nanosleep(&pause, nullptr);
}

// Not a tail call, and not foreseen by the compiler.
__attribute__((noinline)) int fill_stack(int depth) {
    volatile char room[4096];
    room[0] = static_cast<char>(depth);
    sink = room[0];
    return fill_stack(depth + 1) + room[depth % 4096];
}

void die_of(std::string_view record) {
    if (record.starts_with("segv")) {
        volatile std::uintptr_t nowhere = 16;
        *reinterpret_cast<volatile int *>(nowhere) = 1;
    }
    if (record.starts_with("abort"))
        std::abort();
    if (record.starts_with("exit"))
        ::_exit(3);
    if (record.starts_with("stack"))
        sink = fill_stack(0);
    if (record.starts_with("trap"))
        __builtin_trap();
    if (record.starts_with("kill-self")) {
        ::kill(::getpid(), SIGKILL);
        sleep_for_ever();
    }
    if (record.starts_with("stop-self"))
        ::raise(SIGSTOP);
    if (record.starts_with("hang"))
        sleep_for_ever();
}

class Crasher {
  public:
    explicit Crasher(std::string_view config) {
        const rlimit no_core{0, 0};
        ::setrlimit(RLIMIT_CORE, &no_core);
        if (config == "create-dies")
            std::abort();
        if (config == "create-hangs")
            sleep_for_ever();
        if (config.starts_with("once:"))
            once_ = config.substr(5);
    }

    bool process(const gm_batch *batch, gm_output *out) const {
        std::string_view rest(reinterpret_cast<const char *>(batch->data), batch->size);
        for (std::uint64_t index = 0; !rest.empty(); ++index) {
            const std::string_view record = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(record.size() + 1);
            if (record.starts_with("fail"))
                out->fail_record(out, index, "the plugin says no");
            else if (record.starts_with("drop"))
                ++out->filtered;
            else if (!emit(record, rest.empty(), out))
                return false;
        }
        return true;
    }

  private:
    bool emit(std::string_view record, bool last, gm_output *out) const {
        if (once_.empty() || (is_poison(record) && ::unlink(once_.c_str()) == 0))
            die_of(record);
        const std::size_t copies = record.starts_with("flood") ? 40'000 : 1;
        for (std::size_t i = 0; i < copies; ++i) {
            std::uint8_t *to = out->reserve(out, record.size() + 1);
            if (!to)
                return false;
            std::memcpy(to, record.data(), record.size());
            to[record.size()] = '\n';
            out->commit(out, record.size() + !(record.starts_with("tail") && last));
        }
        ++out->emitted;
        return true;
    }

    static bool is_poison(std::string_view record) {
        for (const char *word :
             {"segv", "abort", "exit", "stack", "trap", "kill-self", "stop-self", "hang"})
            if (record.starts_with(word))
                return true;
        return false;
    }

    std::string once_;
};

void *create(const char *config, const gm_host *host) {
    if (std::string_view(config) == "create-fails") {
        host->explain(host, "not on this moon");
        return nullptr;
    }
    return new Crasher(config);
}

int process(void *state, const gm_batch *batch, gm_output *out) {
    return static_cast<const Crasher *>(state)->process(batch, out) ? GM_OK : GM_FAIL_BATCH;
}

void destroy(void *state) { delete static_cast<Crasher *>(state); }

} // namespace

GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin), "crasher", 0, &create, &process, &destroy};
