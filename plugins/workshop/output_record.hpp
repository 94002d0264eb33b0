// The engine's side of gm_output, watching every step.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <gristmill/plugin.h>

#include "guarded_memory.hpp"

namespace gristmill::workshop {

/// How a batch is presented. None of it may make a difference to the output.
struct Handling {
    static constexpr std::uint64_t never = UINT64_MAX;

    Placement placement = Placement::end_guarded;
    std::uint8_t padding = 0xa5;              // what the bytes behind the batch are
    std::uint8_t fresh_byte = 0x5a;           // what reserved memory is before it is written
    std::uint64_t reserve_fails_from = never; // the number of the first reserve() without memory
    bool cancelled = false;                   // the run has been
    bool newer_host = false;                  // structs are longer than this header's
    bool foreign_framing = false;             // the plugin may refuse it, in its own words
    std::uint32_t attempt = 0;
    std::uint32_t worker = 0;
};

/// A record that failed, and how much output had been committed before.
struct FailedRecord {
    std::uint64_t index;
    std::uint64_t committed_bytes;
    bool operator==(const FailedRecord &) const = default;
};

/// Receives the output of one call of process().
///
/// Each reservation lies in memory of its own that ends at a guard; the one before can no longer be
/// touched. What stands before a reservation is filled with a pattern and looked at afterwards.
class OutputRecord {
  public:
    /// `where` names the batch in findings.
    OutputRecord(const Handling &handling, std::uint64_t record_count, std::string where);
    OutputRecord(const OutputRecord &) = delete;
    OutputRecord &operator=(const OutputRecord &) = delete;

    /// What to hand to process().
    gm_output *raw() noexcept { return &given_.raw; }

    /// After process(): checks what is left to check.
    void close();

    const std::string &committed() const noexcept { return committed_; }
    const std::vector<FailedRecord> &failures() const noexcept { return failures_; }
    std::uint64_t failed() const noexcept { return failures_.size() + given_.raw.failed; }
    bool ran_out() const noexcept { return ran_out_; }

    /// What an access to `address` would mean, in words; nullptr if it is none of the output's.
    /// For signal handlers: allocates nothing.
    const char *fault_at(const void *address, char *buffer, std::size_t room) const noexcept;

  private:
    struct WithLaterFields {
        gm_output raw;
        std::uint8_t later[64];
    };

    static std::uint8_t *on_reserve(gm_output *out, std::uint64_t bytes);
    static void on_commit(gm_output *out, std::uint64_t bytes);
    static void on_fail(gm_output *out, std::uint64_t index, const char *reason);
    static OutputRecord &self(gm_output *out);

    std::uint8_t *reserve(std::uint64_t bytes);
    void commit(std::uint64_t bytes);
    void fail(std::uint64_t index, const char *reason);
    void retire_reservation();
    void check_front() const;

    const Handling handling_;
    const std::uint64_t record_count_;
    const std::string where_;
    WithLaterFields given_{};
    GuardedPages pages_;               // of the reservation in hand
    std::uint8_t *reserved_ = nullptr; // its first byte; it ends where the pages end
    std::uint64_t reserved_bytes_ = 0; // 0 again once committed
    std::uint64_t last_bytes_ = 0;     // as reserved, for messages
    std::deque<GuardedPages> retired_; // the latest of those before
    std::uint64_t reservations_ = 0;
    bool ran_out_ = false;
    std::string committed_;
    std::vector<FailedRecord> failures_;
};

} // namespace gristmill::workshop
