// Gives results that the engine cannot use.
#include <array>
#include <unistd.h>

#include "faulty.hpp"

namespace {

using namespace faulty;

std::array<std::uint8_t, 1 << 24> shared; // by all states, without protection

// Each record behind a prefix; other framings than lines are refused.
template <class Prefix>
int put_prefixed(const gm_batch &batch, gm_output &out, Prefix &&prefix) {
    if (batch.delimiter_size != 1)
        return GM_FAIL_BATCH;
    for (std::uint64_t i = 0; i < batch.record_count; ++i) {
        if (!put(out, prefix(i) + std::string(record(batch, i)) + char(*batch.delimiter)))
            return GM_FAIL_BATCH;
        ++out.emitted;
    }
    return GM_OK;
}

int miscount(State &state, const gm_batch &batch, gm_output &out) {
    const int status = hand_on(state, batch, out);
    out.emitted -= batch.record_count > 5;
    return status;
}

int no_delimiter(State &, const gm_batch &batch, gm_output &out) {
    if (copy_of(batch, out) == nullptr)
        return GM_FAIL_BATCH;
    out.commit(&out, batch.size - 1);
    out.emitted += batch.record_count;
    return GM_OK;
}

int odd_status(State &state, const gm_batch &batch, gm_output &out) {
    return hand_on(state, batch, out) == GM_OK ? 7 : GM_FAIL_BATCH;
}

int fail_index(State &, const gm_batch &batch, gm_output &out) {
    for (std::uint64_t i = 1; i <= batch.record_count; ++i)
        out.fail_record(&out, i, "counted from 1");
    return GM_OK;
}

int fail_twice(State &, const gm_batch &batch, gm_output &out) {
    for (std::uint64_t i = 0; i < batch.record_count; ++i)
        out.fail_record(&out, i / 2 * 2, "the even ones only");
    return GM_OK;
}

int fail_late(State &, const gm_batch &batch, gm_output &out) {
    const int status = put_prefixed(batch, out, [](std::uint64_t) { return std::string(); });
    for (std::uint64_t i = 0; status == GM_OK && i < batch.record_count; ++i) {
        if (record(batch, i) == "x") {
            out.fail_record(&out, i, "an x");
            --out.emitted;
        }
    }
    return status;
}

int carry_over(State &state, const gm_batch &batch, gm_output &out) {
    const unsigned long long number = state.batches++;
    return put_prefixed(batch, out, [&](std::uint64_t) { return std::to_string(number) + ' '; });
}

int number_in_batch(State &, const gm_batch &batch, gm_output &out) {
    return put_prefixed(batch, out, [](std::uint64_t i) { return std::to_string(i) + ' '; });
}

int share(State &, const gm_batch &batch, gm_output &out) {
    if (batch.size > shared.size())
        return GM_FAIL_BATCH;
    std::memcpy(shared.data(), batch.data, batch.size);
    ::usleep(500); // long enough for another thread
    std::uint8_t *to = out.reserve(&out, batch.size);
    if (to != nullptr)
        std::memcpy(to, shared.data(), batch.size);
    return finish(batch, out, to);
}

int sum_up(State &, const gm_batch &batch, gm_output &out) { // which is allowed
    if (batch.delimiter_size != 1)
        return GM_FAIL_BATCH;
    out.emitted += batch.record_count;
    const std::string text = std::to_string(batch.record_count) + char(*batch.delimiter);
    return put(out, text) ? GM_OK : GM_FAIL_BATCH;
}

int stop_at_nul(State &state, const gm_batch &batch, gm_output &out) {
    const bool nul = std::memchr(batch.data, 0, batch.size) != nullptr;
    const int status = hand_on(state, batch, out);
    out.emitted -= nul && batch.framing == GM_FRAMING_DELIMITER;
    return status;
}

int fail_all(State &, const gm_batch &, gm_output &) { return GM_FAIL_BATCH; }

int this_version_only(State &state, const gm_batch &batch, gm_output &out) {
    return batch.struct_size == sizeof batch ? hand_on(state, batch, out) : GM_FAIL_BATCH;
}

constexpr Fault faults[] = {
    {"miscount", &miscount},
    {"no-delimiter", &no_delimiter},
    {"odd-status", &odd_status},
    {"fail-index", &fail_index},
    {"fail-twice", &fail_twice},
    {"fail-late", &fail_late},
    {"carry-over", &carry_over},
    {"number-in-batch", &number_in_batch},
    {"share", &share},
    {"sum-up", &sum_up},
    {"stop-at-nul", &stop_at_nul},
    {"fail-all", &fail_all},
    {"this-version-only", &this_version_only},
};

} // namespace

FAULTY_PLUGIN(faults);
