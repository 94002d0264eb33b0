// What a run did: counts that add up, rates, and where the work was done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gristmill {

struct NodeReport {
    std::uint32_t node = 0; // 0-based, as in the plan
    std::uint32_t workers = 0;
    std::uint64_t batches = 0;
    std::uint64_t records = 0;
    // Of batches that had a home node (what lies in the spool; files are read where they are worked on):
    std::uint64_t batches_home = 0;   // run by their home's workers
    std::uint64_t batches_head = 0;   // run here, away from home: the oldest batch waits for nobody
    std::uint64_t batches_stolen = 0; // run here, away from home: this node's workers had nothing else
    double busy_seconds = 0;          // sum over the node's workers: inside batches
    double idle_seconds = 0;          // the same: without one
    std::int32_t memory_node = -1;    // of the machine: where its memory is placed; -1: not placed
    // Pages that were looked at when the run ended, of input buffers, output rings and spool slots.
    std::uint64_t audited_bytes = 0;
    std::uint64_t audited_local_bytes = 0; // that lie on memory_node
};

// How far a run has come: what has left it in order so far.
struct RunProgress {
    std::uint64_t records = 0;     // input records
    std::uint64_t failed = 0;
    std::uint64_t input_bytes = 0;
    std::uint64_t retries = 0;
    std::uint32_t workers_busy = 0; // inside their payload just now
    double seconds = 0;            // since it began
};

struct Report {
    // Input records. Complete runs: read = emitted + filtered + failed, discarded = 0. Runs that
    // end early: read = emitted + filtered + failed + discarded.
    std::uint64_t read = 0;
    std::uint64_t emitted = 0;
    std::uint64_t filtered = 0;
    std::uint64_t failed = 0;
    std::uint64_t discarded = 0;

    std::uint64_t output_records = 0;
    std::uint64_t output_bytes = 0;
    std::uint64_t input_bytes = 0;
    std::uint64_t sources = 0;
    std::uint64_t batches = 0; // that had records

    double wall_seconds = 0; // from the call to its return
    double cpu_seconds = 0;  // of the workers, inside batches

    std::uint32_t workers = 0;
    std::uint64_t batch_bytes_min = 0; // input bytes of a batch
    std::uint64_t batch_bytes_mean = 0;
    std::uint64_t batch_bytes_median = 0; // of a sample of at most 1024 batches
    std::uint64_t batch_bytes_max = 0;
    std::uint64_t overflow_batches = 0; // whose output did not fit the output ring
    std::uint64_t retries = 0;       // batches worked on again, because their worker died
    std::uint64_t worker_deaths = 0;

    // Of input that cannot be read again, on its way to the workers.
    std::uint64_t spool_slots = 0;     // made
    std::uint64_t spool_bytes_max = 0; // that had memory at a time
    std::uint64_t spool_bytes_punched = 0; // whose memory was given back while the run went on
    std::uint64_t spool_punches_failed = 0; // 1: the kernel refuses; the memory comes back at the end

    // Where memory is taken from, in one sentence; empty on a machine with one node of memory.
    std::string placement{};
    std::vector<NodeReport> nodes{};

    double records_per_second() const { return wall_seconds > 0 ? double(read) / wall_seconds : 0; }
    double input_bytes_per_second() const {
        return wall_seconds > 0 ? double(input_bytes) / wall_seconds : 0;
    }
    // A few lines for people.
    std::string to_string() const;
};

} // namespace gristmill
