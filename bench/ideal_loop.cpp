#include "ideal_loop.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace gristmill::bench {

namespace {

constexpr std::uint64_t kOutputChunkBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kOverReadBytes = 512;
constexpr std::uint8_t kDelimiter = '\n';

std::uint8_t *map_memory(std::uint64_t bytes, bool huge) {
    void *data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        throw std::runtime_error("no memory");
    if (huge)
        ::madvise(data, bytes, MADV_HUGEPAGE);
    return static_cast<std::uint8_t *>(data);
}

// Part of a batch as plugin.h describes it. AVX2 where there is one, as the engine does.
[[gnu::target_clones("avx2", "default")]] std::uint64_t
count_bytes(const std::uint8_t *data, std::uint64_t bytes, std::uint8_t wanted) {
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < bytes;) {
        const std::uint64_t end = std::min(bytes, i + 255 * 128);
        std::uint8_t lanes[128] = {};
        for (; i + 128 <= end; i += 128)
            for (std::uint64_t lane = 0; lane < 128; ++lane)
                lanes[lane] = std::uint8_t(lanes[lane] + (data[i + lane] == wanted));
        for (const std::uint8_t lane : lanes)
            total += lane;
        for (; i < end && end - i < 128; ++i)
            total += data[i] == wanted;
    }
    return total;
}

int never_cancelled(const gm_host *) { return 0; }
void ignore_explanation(const gm_host *, const char *) {}

} // namespace

// One thread's state, kept warm between runs.
struct IdealLoop::Worker {
    gm_host host{sizeof(gm_host), GM_PLUGIN_ABI_VERSION, nullptr, &never_cancelled,
                 &ignore_explanation};
    void *state = nullptr;
    std::uint8_t *buffer = nullptr;
    std::uint64_t buffer_bytes = 0;
    std::vector<std::uint8_t *> chunks; // of output
    std::size_t chunk = 0;              // in use
    std::uint64_t used = 0;             // of it
    std::uint64_t records = 0;
    std::uint64_t output_bytes = 0;

    static std::uint8_t *reserve(gm_output *out, std::uint64_t bytes) {
        auto *self = static_cast<Worker *>(out->context);
        if (self->used + bytes > kOutputChunkBytes) {
            // What this batch has committed so far stays where it is: nobody reads it here.
            ++self->chunk;
            self->used = 0;
        }
        if (self->chunk == self->chunks.size())
            self->chunks.push_back(map_memory(kOutputChunkBytes, true));
        return self->chunks[self->chunk] + self->used;
    }
    static void commit(gm_output *out, std::uint64_t bytes) {
        auto *self = static_cast<Worker *>(out->context);
        self->used += bytes;
        self->output_bytes += bytes;
    }
    static void fail(gm_output *, std::uint64_t, const char *) {}
};

IdealLoop::IdealLoop(const std::string &plugin_path, const std::string &config,
                     const std::string &file_path, std::uint64_t chunk_bytes)
    : config_(config), chunk_bytes_(chunk_bytes) {
    library_ = ::dlopen(plugin_path.c_str(), RTLD_NOW | RTLD_LOCAL);
    plugin_ = library_ ? static_cast<const gm_plugin *>(::dlsym(library_, "gm_plugin")) : nullptr;
    fd_ = ::open(file_path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (!plugin_ || fd_ < 0 || ::fstat(fd_, &facts) < 0)
        throw std::runtime_error("cannot open " + plugin_path + " or " + file_path);
    file_bytes_ = static_cast<std::uint64_t>(facts.st_size);
}

IdealLoop::~IdealLoop() {
    for (Worker *worker : workers_) {
        if (plugin_->destroy && worker->state)
            plugin_->destroy(worker->state);
        ::munmap(worker->buffer, worker->buffer_bytes);
        for (std::uint8_t *chunk : worker->chunks)
            ::munmap(chunk, kOutputChunkBytes);
        delete worker;
    }
    if (mapped_)
        ::munmap(const_cast<std::uint8_t *>(mapped_), file_bytes_ + GM_BATCH_PADDING);
    ::close(fd_);
    ::dlclose(library_);
}

double IdealLoop::run(unsigned threads, Input input) {
    while (workers_.size() < threads) {
        auto *worker = new Worker;
        worker->state = plugin_->create ? plugin_->create(config_.c_str(), &worker->host) : nullptr;
        if (plugin_->create && !worker->state)
            throw std::runtime_error("the plugin does not take its configuration");
        worker->buffer_bytes = 2 * chunk_bytes_ + (std::uint64_t{1} << 20);
        worker->buffer = map_memory(worker->buffer_bytes, false);
        workers_.push_back(worker);
    }
    if (input == Input::memory && !mapped_) {
        std::uint8_t *copy = map_memory(file_bytes_ + GM_BATCH_PADDING, true);
        for (std::uint64_t at = 0; at < file_bytes_;) {
            const ssize_t got = ::pread(fd_, copy + at, file_bytes_ - at, off_t(at));
            if (got <= 0)
                throw std::runtime_error("cannot read the input");
            at += std::uint64_t(got);
        }
        mapped_ = copy;
    }
    next_chunk_ = 0;
    const auto started = std::chrono::steady_clock::now();
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i)
        running.emplace_back([this, i, input] { work(*workers_[i], input); });
    for (std::thread &thread : running)
        thread.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    records_ = output_bytes_ = 0;
    for (unsigned i = 0; i < threads; ++i) {
        records_ += workers_[i]->records;
        output_bytes_ += workers_[i]->output_bytes;
    }
    return took.count();
}

void IdealLoop::work(Worker &worker, Input input) {
    worker.chunk = worker.used = worker.records = worker.output_bytes = 0;
    const std::uint64_t chunks = (file_bytes_ + chunk_bytes_ - 1) / chunk_bytes_;
    std::atomic_ref<std::uint64_t> next(next_chunk_);
    for (std::uint64_t i = next.fetch_add(1); i < chunks; i = next.fetch_add(1))
        process_chunk(worker, i * chunk_bytes_, input);
}

// Reads from begin to the end of the record that reaches end; where what was read ends.
std::uint64_t IdealLoop::load(Worker &worker, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t loaded = begin;
    std::uint64_t wanted = std::min(end + kOverReadBytes, file_bytes_);
    while (true) {
        const ssize_t got =
            ::pread(fd_, worker.buffer + (loaded - begin), wanted - loaded, off_t(loaded));
        if (got <= 0)
            throw std::runtime_error("cannot read the input");
        loaded += std::uint64_t(got);
        const std::uint64_t from = end - 1 - begin;
        if (loaded == file_bytes_ ||
            (loaded >= end && std::memchr(worker.buffer + from, kDelimiter, loaded - begin - from)))
            return loaded;
        wanted = std::min({std::max(wanted, loaded + kOverReadBytes), file_bytes_,
                           begin + worker.buffer_bytes});
    }
}

void IdealLoop::process_chunk(Worker &worker, std::uint64_t begin, Input input) {
    const std::uint64_t end = std::min(begin + chunk_bytes_, file_bytes_);
    const std::uint64_t base = begin == 0 ? 0 : begin - 1;
    const bool reads = input == Input::pread;
    const std::uint64_t loaded = reads ? load(worker, base, end) : file_bytes_;
    const std::uint8_t *data = reads ? worker.buffer : mapped_ + base;
    const auto find = [&](std::uint64_t from) -> std::uint64_t {
        const void *at = std::memchr(data + (from - base), kDelimiter, loaded - from);
        return at ? base + std::uint64_t(static_cast<const std::uint8_t *>(at) - data) : loaded;
    };
    const std::uint64_t first = begin == 0 ? 0 : find(base) + 1;
    if (first >= end)
        return;
    const std::uint64_t last = find(end - 1) + 1;
    gm_batch batch{};
    batch.struct_size = sizeof batch;
    batch.data = data + (first - base);
    batch.size = last - first;
    batch.record_count = count_records_ ? count_bytes(batch.data, batch.size, kDelimiter) : 1;
    batch.byte_offset = first;
    batch.delimiter = &kDelimiter;
    batch.delimiter_size = 1;
    gm_output out{sizeof(gm_output), 0, &worker, 0, 0, 0, &Worker::reserve, &Worker::commit,
                  &Worker::fail};
    plugin_->process(worker.state, &batch, &out);
    worker.records += out.emitted + out.filtered + out.failed;
}

} // namespace gristmill::bench
