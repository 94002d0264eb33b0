// Goes where it may not, or does not say what it needs.
#include <cstdlib>

#include "faulty.hpp"

namespace {

using namespace faulty;

int write_past(State &, const gm_batch &batch, gm_output &out) {
    std::uint8_t *to = copy_of(batch, out);
    if (to != nullptr)
        static_cast<volatile std::uint8_t *>(to)[batch.size] = 'x';
    return finish(batch, out, to);
}

int write_before(State &, const gm_batch &batch, gm_output &out) {
    std::uint8_t *to = copy_of(batch, out);
    if (to != nullptr)
        static_cast<volatile std::uint8_t *>(to)[-1] = 'x';
    return finish(batch, out, to);
}

int write_stale(State &, const gm_batch &batch, gm_output &out) {
    volatile std::uint8_t *old = out.reserve(&out, batch.size);
    std::uint8_t *to = copy_of(batch, out);
    if (old != nullptr && to != nullptr)
        old[0] = 'x';
    return finish(batch, out, to);
}

int write_input(State &state, const gm_batch &batch, gm_output &out) {
    if (batch.record_count > 3)
        const_cast<volatile std::uint8_t *>(batch.data)[batch.size / 2] = 'x';
    return hand_on(state, batch, out);
}

int read_far(State &state, const gm_batch &batch, gm_output &out) {
    seen = batch.data[batch.size + GM_BATCH_PADDING];
    return hand_on(state, batch, out);
}

int read_padding(State &state, const gm_batch &batch, gm_output &out) { // which is allowed
    seen = batch.data[batch.size + GM_BATCH_PADDING - 1];
    return hand_on(state, batch, out);
}

int read_before(State &state, const gm_batch &batch, gm_output &out) {
    seen = *(batch.data - 1);
    return hand_on(state, batch, out);
}

int use_padding(State &, const gm_batch &batch, gm_output &out) {
    std::uint8_t *to = copy_of(batch, out);
    if (to != nullptr && batch.size > 4)
        to[0] = batch.data[batch.size] == '\n' ? 'N' : 'n';
    return finish(batch, out, to);
}

int leave_unwritten(State &, const gm_batch &batch, gm_output &out) {
    std::uint8_t *to = out.reserve(&out, batch.size);
    if (to != nullptr)
        std::memcpy(to + 1, batch.data + 1, batch.size - 1);
    return finish(batch, out, to);
}

int write_batch(State &state, const gm_batch &batch, gm_output &out) {
    const_cast<gm_batch &>(batch).sequence = 7;
    return hand_on(state, batch, out);
}

int write_offsets(State &state, const gm_batch &batch, gm_output &out) {
    const_cast<std::uint64_t *>(batch.record_offsets)[0] = 7;
    return hand_on(state, batch, out);
}

int write_output(State &, const gm_batch &batch, gm_output &out) {
    out.context = nullptr;
    out.emitted += batch.record_count;
    return GM_OK;
}

int over_commit(State &, const gm_batch &batch, gm_output &out) {
    if (copy_of(batch, out) == nullptr)
        return GM_FAIL_BATCH;
    out.commit(&out, batch.size + 1);
    out.emitted += batch.record_count;
    return GM_OK;
}

int commit_twice(State &, const gm_batch &batch, gm_output &out) {
    std::uint8_t *to = copy_of(batch, out);
    if (to != nullptr)
        out.commit(&out, batch.size);
    return finish(batch, out, to);
}

int reserve_negative(State &, const gm_batch &batch, gm_output &out) {
    return finish(batch, out, out.reserve(&out, static_cast<std::uint64_t>(-1)));
}

int ignore_null(State &, const gm_batch &batch, gm_output &out) {
    if (copy_of(batch, out) != nullptr)
        out.commit(&out, batch.size);
    out.emitted += batch.record_count;
    return GM_OK;
}

int small_buffer(State &state, const gm_batch &batch, gm_output &out) {
    if (batch.size > (1 << 20))
        std::abort();
    return hand_on(state, batch, out);
}

constexpr Fault faults[] = {
    {"write-past", &write_past},
    {"write-before", &write_before},
    {"write-stale", &write_stale},
    {"write-input", &write_input},
    {"read-far", &read_far},
    {"read-padding", &read_padding},
    {"read-before", &read_before},
    {"use-padding", &use_padding},
    {"leave-unwritten", &leave_unwritten},
    {"write-batch", &write_batch},
    {"write-offsets", &write_offsets},
    {"write-output", &write_output},
    {"over-commit", &over_commit},
    {"commit-twice", &commit_twice},
    {"reserve-negative", &reserve_negative},
    {"ignore-null", &ignore_null},
    {"small-buffer", &small_buffer},
};

} // namespace

FAULTY_PLUGIN(faults);
