// The loop that one would write by hand: what the engine is measured against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gristmill/plugin.h>

namespace gristmill::bench {

enum class Input : std::uint8_t {
    pread, // each chunk is read into one warm buffer a thread
    memory // the file lies in memory already
};

// N threads take chunks of a file by fetch-add and run a plugin over the records that start in
// them. Output is kept: in 64 MiB chunks of huge pages, warm after the first run. The calling
// thread is blocked meanwhile. No order, no errors, no accounting beyond the plugin's own.
class IdealLoop {
  public:
    // `config`: of the plugin. Chunks are longer than any record.
    IdealLoop(const std::string &plugin_path, const std::string &config,
              const std::string &file_path, std::uint64_t chunk_bytes);
    ~IdealLoop();

    // Whether batches carry their number of records, as the ABI says they do. Without, a loop is
    // faster, and breaks the promise that plugins rely on.
    void count_records(bool count) { count_records_ = count; }

    // Seconds for one pass with so many threads.
    double run(unsigned threads, Input input);

    std::uint64_t records() const { return records_; }
    std::uint64_t output_bytes() const { return output_bytes_; }

  private:
    struct Worker;
    void work(Worker &worker, Input input);
    void process_chunk(Worker &worker, std::uint64_t begin, Input input);
    std::uint64_t load(Worker &worker, std::uint64_t begin, std::uint64_t end);

    const gm_plugin *plugin_ = nullptr;
    std::string config_;
    void *library_ = nullptr;
    int fd_ = -1;
    std::uint64_t file_bytes_ = 0;
    std::uint64_t chunk_bytes_ = 0;
    const std::uint8_t *mapped_ = nullptr; // for Input::memory: a copy, padded
    std::vector<Worker *> workers_;
    bool count_records_ = true;
    std::uint64_t records_ = 0;
    std::uint64_t output_bytes_ = 0;
    std::uint64_t next_chunk_ = 0; // taken by fetch-add
};

} // namespace gristmill::bench
