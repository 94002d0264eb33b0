// Where memory comes from: policies of threads and of shared memory, and what the kernel made of them.
//
// Every policy here is a preference (MPOL_PREFERRED): a node that is full lends from another, and no
// run ends for it. System calls as they are: libnuma looks at the whole machine when it is loaded,
// which a program of a few milliseconds has no time for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gristmill::os {

// Memory that this thread touches first comes from the node (as in /sys/devices/system/node) from now
// on; its children inherit that. 0, or errno.
int prefer_memory_of(std::uint32_t node) noexcept;

// The same for pages of a shared mapping that are not there yet, whoever touches them first; holes
// punched later are filled alike. 0, or errno.
int prefer_memory_of(std::uint32_t node, std::span<std::byte> range) noexcept;

// Does the kernel let this process say where memory comes from? 0, or errno: EPERM and ENOSYS in
// containers that forbid it. Changes nothing.
int placement_refused(std::uint32_t node) noexcept;

struct PageAudit {
    std::uint64_t bytes = 0;       // in pages that are there and were looked at
    std::uint64_t local_bytes = 0; // on the node

    PageAudit &operator+=(const PageAudit &other) noexcept {
        bytes += other.bytes;
        local_bytes += other.local_bytes;
        return *this;
    }
};

// Asks the kernel on which node pages of this process lie: all of the range, or of a long one as many
// as `pages_max`, evenly spread. Pages that this process has not touched do not count.
PageAudit audit_pages(std::span<const std::byte> range, std::uint32_t node,
                      std::uint64_t pages_max = 4096) noexcept;

// On which node the page lies; nullopt when it is not there, or the kernel does not tell.
std::optional<std::uint32_t> node_of_page(const std::byte *page) noexcept;

} // namespace gristmill::os
