#include "os/placement.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.hpp"

namespace gristmill::os {

namespace {

constexpr std::uint32_t kNodes = 1024; // that Linux can have
constexpr std::size_t kPagesAtOnce = 256;

class NodeMask {
  public:
    // One that there cannot be becomes one that is never there: no node at all would mean any.
    explicit NodeMask(std::uint32_t node) {
        node = std::min(node, kNodes - 1);
        words_[node / kWordBits] |= 1ul << (node % kWordBits);
    }
    const unsigned long *data() const { return words_.data(); }
    static constexpr unsigned long kBits = kNodes + 1; // the kernel wants one more than there are

  private:
    static constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);
    std::array<unsigned long, kNodes / kWordBits + 1> words_{};
};

int result_of(long returned) { return returned < 0 ? errno : 0; }

} // namespace

int prefer_memory_of(std::uint32_t node) noexcept {
    const NodeMask mask(node);
    return result_of(::syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), NodeMask::kBits));
}

int prefer_memory_of(std::uint32_t node, std::span<std::byte> range) noexcept {
    const NodeMask mask(node);
    return result_of(::syscall(SYS_mbind, range.data(), range.size(), MPOL_PREFERRED, mask.data(),
                               NodeMask::kBits, 0));
}

int placement_refused(std::uint32_t node) noexcept {
    void *page = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return errno;
    const int refused = prefer_memory_of(node, {static_cast<std::byte *>(page), kPageBytes});
    ::munmap(page, kPageBytes);
    return refused;
}

PageAudit audit_pages(std::span<const std::byte> range, std::uint32_t node,
                      std::uint64_t pages_max) noexcept {
    PageAudit audit;
    const auto begin = round_down(reinterpret_cast<std::uintptr_t>(range.data()), kPageBytes);
    const auto end = reinterpret_cast<std::uintptr_t>(range.data() + range.size());
    const std::uint64_t pages = end > begin ? (end - begin + kPageBytes - 1) / kPageBytes : 0;
    pages_max = std::max<std::uint64_t>(pages_max, 1);
    const std::uint64_t step = (pages + pages_max - 1) / pages_max;
    std::array<void *, kPagesAtOnce> addresses;
    std::array<int, kPagesAtOnce> nodes;
    for (std::uint64_t page = 0; page < pages;) {
        std::size_t count = 0;
        for (; count < kPagesAtOnce && page < pages; page += step)
            addresses[count++] = reinterpret_cast<void *>(begin + page * kPageBytes);
        if (::syscall(SYS_move_pages, 0, count, addresses.data(), nullptr, nodes.data(), 0) < 0)
            return audit;
        for (std::size_t i = 0; i < count; ++i)
            if (nodes[i] >= 0) {
                audit.bytes += kPageBytes;
                audit.local_bytes += nodes[i] == int(node) ? kPageBytes : 0;
            }
    }
    return audit;
}

std::optional<std::uint32_t> node_of_page(const std::byte *page) noexcept {
    void *address = const_cast<std::byte *>(page);
    int node = -1;
    if (::syscall(SYS_move_pages, 0, 1, &address, nullptr, &node, 0) < 0 || node < 0)
        return std::nullopt;
    return static_cast<std::uint32_t>(node);
}

} // namespace gristmill::os
