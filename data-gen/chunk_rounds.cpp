#include "chunk_rounds.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>
#include <vector>

#include <new>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <gristmill/topology.hpp>

#ifdef __SANITIZE_THREAD__
// The thread sanitizer does not see how oneTBB, which comes without instrumentation, orders the
// tasks themselves and its own memory; what the tasks work on is ordered by Rounds::pass().
extern "C" __attribute__((weak)) const char *__tsan_default_suppressions() { // NOLINT(bugprone-*)
    return "race:oneapi/tbb\n"
           "called_from_lib:libtbb.so\n";
}
#endif

namespace gristmill::datagen {

namespace {

/// Chunks of a round for each thread: enough that none waits long for the slowest.
constexpr std::size_t chunks_per_thread = 4;

struct MadeChunk {
    RecordBuffer buffer; // serves round after round
    std::uint64_t records = 0;
    std::uint64_t valid = 0;
};

/// Threads: the tasks of a round work on `next_`, each on a chunk of its own; the rest is the
/// calling thread's.
class Rounds {
  public:
    Rounds(RecordStream &stream, Range range, std::size_t chunks_max)
        : stream_(stream), left_(range), chunks_max_(chunks_max) {}

    bool run(const Sink &sink) {
        start();
        finish();
        while (!ready_.empty()) {
            start();
            bool go_on = false;
            try {
                go_on = hand_on(sink);
            } catch (...) {
                finish();
                throw;
            }
            finish();
            if (!go_on)
                return false;
        }
        return true;
    }

  private:
    void start() {
        const std::uint64_t step = stream_.chunk_records();
        const std::uint64_t records = left_.end - left_.begin;
        const std::uint64_t chunks = records / step + (records % step > 0);
        next_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(chunks, chunks_max_)));
        pass();
        for (MadeChunk &chunk : next_) {
            const Range part{left_.begin, left_.begin + std::min(step, left_.end - left_.begin)};
            left_.begin = part.end;
            making_.run([this, &chunk, part] {
                pass();
                chunk.records = part.end - part.begin;
                chunk.buffer.clear();
                chunk.valid = stream_.append(chunk.buffer, part.begin, part.end);
                pass();
            });
        }
    }

    void finish() {
        making_.wait();
        pass();
        std::swap(ready_, next_);
    }

    bool hand_on(const Sink &sink) const {
        return std::all_of(ready_.begin(), ready_.end(), [&sink](const MadeChunk &chunk) {
            return sink({chunk.buffer.bytes(), chunk.records, chunk.valid});
        });
    }

    /// Who passes later sees what was done before. run() and wait() see to that already, but not
    /// in the eyes of the thread sanitizer.
    void pass() noexcept { passed_.fetch_add(1); }

    RecordStream &stream_;
    Range left_; // to be started
    std::size_t chunks_max_;
    std::vector<MadeChunk> ready_; // to be handed on
    std::vector<MadeChunk> next_;  // in the making
    std::atomic<std::uint64_t> passed_ = 0;
    tbb::task_group making_;
};

} // namespace

std::uint32_t threads_to_use(std::uint32_t asked) {
    if (asked > 0)
        return asked;
    const Result<Topology> topology = discover_topology();
    if (!topology)
        return 1;
    auto cpus = static_cast<double>(topology->cpus.size());
    if (topology->cpu_quota > 0)
        cpus = std::min(cpus, std::ceil(topology->cpu_quota));
    return static_cast<std::uint32_t>(std::max(cpus, 1.0));
}

namespace {

// Lets oneTBB's threads end with the work, unless others use them too: a process with idle threads
// cannot be forked as freely as one without.
class TbbThreads {
  public:
    TbbThreads() : handle_(tbb::attach{}) {}
    TbbThreads(const TbbThreads &) = delete;
    TbbThreads &operator=(const TbbThreads &) = delete;
    ~TbbThreads() { tbb::finalize(handle_, std::nothrow); }

  private:
    tbb::task_scheduler_handle handle_;
};

} // namespace

bool hand_on_chunks(RecordStream &stream, Range range, std::uint32_t threads, const Sink &sink) {
    // More than TBB has would be no use, and it would print a warning.
    const std::size_t used = std::min<std::size_t>(
        threads, tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
    const bool one_by_one = stream.sequential() || used == 1;
    const std::size_t chunks_max = one_by_one ? 1 : used * chunks_per_thread;
    const TbbThreads threads_of_tbb;
    tbb::task_arena arena(static_cast<int>(used));
    return arena.execute([&] {
        Rounds rounds(stream, range, chunks_max);
        return rounds.run(sink);
    });
}

} // namespace gristmill::datagen
