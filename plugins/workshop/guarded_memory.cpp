#include "guarded_memory.hpp"

#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <gristmill/plugin.h>

namespace gristmill::workshop {

namespace {

constexpr std::uint64_t guard_bytes = 64 * 1024; // a multiple of every page size in use
constexpr std::uint64_t bytes_max = std::uint64_t{1} << 40;

std::uint64_t whole_pages(std::uint64_t bytes) {
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

} // namespace

GuardedPages::GuardedPages(std::uint64_t bytes) {
    if (bytes > bytes_max)
        throw std::bad_alloc();
    const std::uint64_t room = whole_pages(bytes);
    void *all = ::mmap(nullptr, room + 2 * guard_bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        throw std::bad_alloc();
    begin_ = static_cast<std::uint8_t *>(all) + guard_bytes;
    bytes_ = room;
    make_writable();
}

GuardedPages::GuardedPages(GuardedPages &&other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

GuardedPages &GuardedPages::operator=(GuardedPages &&other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

GuardedPages::~GuardedPages() {
    if (begin_ != nullptr)
        ::munmap(begin_ - guard_bytes, bytes_ + 2 * guard_bytes);
}

bool GuardedPages::is_near(const void *address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto first = reinterpret_cast<std::uintptr_t>(begin_);
    return begin_ != nullptr && at >= first - guard_bytes && at < first + bytes_ + guard_bytes;
}

void GuardedPages::make_writable() const { protect(PROT_READ | PROT_WRITE); }
void GuardedPages::make_readable() const { protect(PROT_READ); }
void GuardedPages::make_forbidden() const { protect(PROT_NONE); }

void GuardedPages::protect(int rights) const {
    if (bytes_ != 0 && ::mprotect(begin_, bytes_, rights) != 0)
        throw std::bad_alloc(); // the kernel had no memory to split the mapping
}

const std::uint8_t *InputBlock::place(std::string_view data, Placement placement,
                                      std::uint8_t padding) {
    const std::uint64_t bytes = data.size() + GM_BATCH_PADDING;
    if (pages_.bytes() < bytes)
        pages_ = GuardedPages(bytes);
    else
        pages_.make_writable();
    std::uint8_t *to = placement == Placement::end_guarded ? pages_.end() - bytes : pages_.begin();
    std::memcpy(to, data.data(), data.size());
    std::memset(to + data.size(), padding, GM_BATCH_PADDING);
    pages_.make_readable();
    data_ = to;
    size_ = data.size();
    return to;
}

} // namespace gristmill::workshop
