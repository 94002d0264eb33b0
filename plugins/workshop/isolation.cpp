#include "isolation.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "words.hpp"

namespace gristmill::workshop {

namespace {

using Clock = std::chrono::steady_clock;

// What a child has printed, kept in memory.
class Capture {
  public:
    Capture() : descriptor_(::memfd_create("plugin_check", MFD_CLOEXEC)) {}
    ~Capture() { ::close(descriptor_); }
    Capture(const Capture &) = delete;
    Capture &operator=(const Capture &) = delete;

    void take_over(int descriptor) const { ::dup2(descriptor_, descriptor); }

    std::string start() const { return read_at(0); }
    std::string end() const {
        const off_t size = ::lseek(descriptor_, 0, SEEK_END);
        return read_at(std::max<off_t>(0, size - static_cast<off_t>(sizeof(Buffer))));
    }

  private:
    using Buffer = char[400];
    std::string read_at(off_t offset) const {
        Buffer buffer;
        const ssize_t got = ::pread(descriptor_, buffer, sizeof buffer, offset);
        return {buffer, static_cast<std::size_t>(std::max<ssize_t>(0, got))};
    }

    int descriptor_;
};

[[noreturn]] void be_the_child(const Step &step, const Subject &subject, const Capture &out,
                               const Capture &err, const sigset_t &signals, pid_t parent) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(1);
    if (const int nowhere = ::open("/dev/null", O_RDONLY); nowhere > 0)
        ::dup2(nowhere, 0);
    out.take_over(1);
    err.take_over(2);
    ::sigprocmask(SIG_SETMASK, &signals, nullptr);
    const FaultStack fault_stack;
    report_faults();
    try {
        step.run(subject);
    } catch (const StepEnds &) {
    } catch (const std::bad_alloc &) {
        violation("tool-memory", "the checker itself found no memory to go on");
    }
    std::fflush(nullptr); // what the plugin printed and the stream still holds
    Ledger::shared().complete();
    ::_exit(0);
}

// True when the child is gone, with its wait status; false when the time is over.
bool wait_for(pid_t child, double seconds, int &status) {
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(seconds));
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    while (::waitpid(child, &status, WNOHANG) != child) {
        const auto left =
            std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now());
        if (left.count() <= 0)
            return false;
        const timespec pause{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
        ::sigtimedwait(&child_signal, nullptr, &pause);
    }
    return true;
}

// The last line that says something.
std::string last_line(const std::string &text) {
    const auto is_word = [](unsigned char byte) { return std::isalnum(byte) != 0; };
    const auto word = std::find_if(text.rbegin(), text.rend(), is_word);
    const auto line = text.substr(0, text.find('\n', static_cast<std::size_t>(text.rend() - word)));
    return line.substr(line.rfind('\n') + 1);
}

// Puts into words how the child came to its end, where the ledger does not yet say it.
void judge_end(bool timed_out, double seconds, int status, const std::string &said) {
    Ledger &ledger = Ledger::shared();
    const std::string in = ledger.doing().empty() ? "the step" : ledger.doing();
    const std::string printed = said.empty() ? "" : "; it printed: " + said;
    if (timed_out) {
        ledger.add(Verdict::violation, "time",
                   (words("does not come back: after %g s it was still in ", seconds) + in +
                    " (--step-seconds sets the limit)")
                       .c_str());
    } else if (WIFSIGNALED(status)) {
        const std::string signal = words("SIG%s", sigabbrev_np(WTERMSIG(status)));
        if (!ledger.has("fault"))
            ledger.add(Verdict::violation, "fault",
                       (in + " ends the process by " + signal + printed).c_str());
        else if (!said.empty())
            ledger.add(Verdict::note, "printed", ("it printed: " + said).c_str());
    } else if (!ledger.completed()) {
        ledger.add(Verdict::violation, "exit",
                   (in +
                    words(" ends the process, with exit status %d; a plugin never calls exit()",
                          WEXITSTATUS(status)) +
                    printed)
                       .c_str());
    }
}

void judge_printing(const Capture &out) {
    const std::string printed = out.start();
    if (!printed.empty())
        violation("stdout", "prints to standard output, which belongs to the results: " +
                                quoted(printed, 60) +
                                "; say it on standard error, or through explain()");
}

} // namespace

bool StepReport::violated() const {
    return std::any_of(findings.begin(), findings.end(), [](const Finding &finding) {
        return finding.verdict == Verdict::violation;
    });
}

StepReport run_isolated(const Step &step, const Subject &subject) {
    Ledger::shared().reset();
    const Capture out, err;
    sigset_t child_signal, before;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child_signal, &before);
    const auto started = Clock::now();
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) {
        std::perror("plugin_check: cannot start a process");
        std::exit(2);
    }
    if (child == 0)
        be_the_child(step, subject, out, err, before, parent);
    ::setpgid(child, child); // both sides, so that it is done when either goes on
    StepReport report;
    int status = 0;
    report.timed_out = !wait_for(child, subject.step_seconds, status);
    if (report.timed_out) {
        ::kill(-child, SIGKILL);
        ::waitpid(child, &status, 0);
    }
    const bool left_children = ::kill(-child, SIGKILL) == 0;
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    report.seconds = std::chrono::duration<double>(Clock::now() - started).count();
    judge_end(report.timed_out, subject.step_seconds, status, last_line(err.end()));
    judge_printing(out);
    if (left_children && !report.timed_out)
        violation("children", "leaves a process of its own running");
    report.name = step.name;
    report.tried = Ledger::shared().tried().empty() ? step.tries : Ledger::shared().tried();
    report.findings = Ledger::shared().findings();
    report.advice = report.violated() ? step.advice : "";
    report.done = true;
    return report;
}

} // namespace gristmill::workshop
