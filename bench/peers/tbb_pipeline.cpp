// For tbb_pipeline.py: oneTBB's parallel_pipeline with a compiled gristmill plugin. Reads the file in order, works
// on chunks of whole lines in parallel, keeps their output in order.
#include "plugin_host.h"

#include <algorithm>
#include <fcntl.h>
#include <memory>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

namespace tbb = oneapi::tbb;

struct Chunk {
    std::unique_ptr<uint8_t[]> data;
    size_t size = 0;
    host_bytes output{nullptr, 0, 0};
    bool failed = false;
};

struct Worker {
    host_plugin plugin{};
    bool opened = false;
};

// Cuts the file into chunks of whole lines, of about `target` bytes.
class Reader {
  public:
    Reader(int file, size_t target) : file_(file), target_(target) {}

    Chunk *next() {
        auto chunk = std::make_unique<Chunk>();
        size_t room = rest_.size() + target_;
        chunk->data = std::make_unique_for_overwrite<uint8_t[]>(room + GM_BATCH_PADDING);
        std::copy(rest_.begin(), rest_.end(), chunk->data.get());
        size_t size = rest_.size();
        rest_.clear();
        while (size < room) {
            ssize_t more = ::read(file_, chunk->data.get() + size, room - size);
            if (more <= 0)
                break;
            size += static_cast<size_t>(more);
        }
        if (size == 0)
            return nullptr;
        const auto *data = chunk->data.get();
        const auto *newline = static_cast<const uint8_t *>(memrchr(data, '\n', size));
        chunk->size = newline == nullptr ? size : static_cast<size_t>(newline - data) + 1;
        rest_.assign(data + chunk->size, data + size);
        return chunk.release();
    }

  private:
    int file_;
    size_t target_;
    std::vector<uint8_t> rest_;
};

struct Kept {
    std::vector<host_bytes> outputs;
    bool failed = false;
};

struct Runner {
    std::string plugin, config;
    tbb::enumerable_thread_specific<Worker> workers;

    void work(Chunk &chunk) {
        Worker &worker = workers.local();
        if (!worker.opened) {
            worker.opened = true;
            chunk.failed = host_open(&worker.plugin, plugin.c_str(), config.c_str()) != 0;
        }
        if (!chunk.failed && worker.plugin.plugin != nullptr)
            chunk.failed = host_run(&worker.plugin, chunk.data.get(), chunk.size, &chunk.output) != 0;
        chunk.data.reset();
    }
};

} // namespace

extern "C" {

void *tbb_open(const char *plugin, const char *config) {
    auto made = std::make_unique<Runner>();
    made->plugin = plugin;
    made->config = config;
    return made.release();
}

// The output, to be asked for piece by piece and freed with tbb_free; nullptr when it failed.
void *tbb_run(void *of, const char *path, int workers, uint64_t chunk_bytes, int tokens) {
    auto &runner = *static_cast<Runner *>(of);
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(workers));
    int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return nullptr;
    Reader reader(file, chunk_bytes);
    auto kept = std::make_unique<Kept>();
    auto read = tbb::make_filter<void, Chunk *>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control &flow) {
        Chunk *chunk = reader.next();
        if (chunk == nullptr)
            flow.stop();
        return chunk;
    });
    auto work = tbb::make_filter<Chunk *, Chunk *>(tbb::filter_mode::parallel, [&](Chunk *chunk) {
        runner.work(*chunk);
        return chunk;
    });
    auto keep = tbb::make_filter<Chunk *, void>(tbb::filter_mode::serial_in_order, [&](Chunk *chunk) {
        kept->failed |= chunk->failed;
        kept->outputs.push_back(chunk->output);
        delete chunk;
    });
    tbb::parallel_pipeline(static_cast<size_t>(tokens), read & work & keep);
    ::close(file);
    return kept->failed ? nullptr : kept.release();
}

uint64_t tbb_count(void *of) { return static_cast<Kept *>(of)->outputs.size(); }

const uint8_t *tbb_piece(void *of, uint64_t at, uint64_t *size) {
    const host_bytes &piece = static_cast<Kept *>(of)->outputs[at];
    *size = piece.size;
    return piece.data;
}

void tbb_free(void *of) {
    auto *kept = static_cast<Kept *>(of);
    for (const host_bytes &piece : kept->outputs)
        free(piece.data);
    delete kept;
}

} // extern "C"
