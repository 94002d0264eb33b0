// Spools of the tests, and what their files really take.
#pragma once

#include <sys/stat.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "os/fd_io.hpp"
#include "store/spool.hpp"

namespace gristmill::store {

inline constexpr std::uint64_t kSlot = 64 * kKiB;

inline Spool make(std::uint64_t slots, std::uint64_t slot_bytes = kSlot) {
    return std::move(Spool::create(slot_bytes, slots * slot_bytes).value());
}

// What the file really takes.
inline std::uint64_t resident(const Spool &spool) {
    struct stat facts {};
    EXPECT_EQ(::fstat(spool.fd(), &facts), 0);
    return static_cast<std::uint64_t>(facts.st_blocks) * 512;
}

// What a slot of so many bytes holds, the padding behind it being part of the slot.
inline std::uint64_t held_by(std::uint64_t slot_bytes) {
    return std::max<std::uint64_t>(slot_bytes, GM_BATCH_PADDING + 1) - GM_BATCH_PADDING;
}

inline std::uint32_t take(Spool &spool, std::uint64_t slot_bytes = kSlot, bool beyond_limit = false) {
    const auto slot = spool.acquire(held_by(slot_bytes), beyond_limit);
    EXPECT_TRUE(slot && *slot);
    return slot && *slot ? **slot : 0;
}

inline bool refused(Spool &spool, std::uint64_t slot_bytes = kSlot) {
    const auto slot = spool.acquire(held_by(slot_bytes), false);
    return slot && !*slot;
}

// By a system call, as a source is read.
inline void fill(Spool &spool, std::uint32_t slot) {
    const std::string bytes(spool.capacity(slot), 'x');
    ASSERT_EQ(os::pwrite_full(spool.fd(), bytes_of(bytes), spool.offset(slot)), 0);
}

// With so many workers on each node.
inline Spool make_for(const std::vector<std::uint32_t> &workers, std::uint64_t slots) {
    std::vector<SpoolNode> nodes;
    for (const std::uint32_t count : workers)
        nodes.push_back({count, std::nullopt});
    return std::move(Spool::create(kSlot, slots * kSlot, nodes).value());
}

} // namespace gristmill::store
