#include "input/item_file.hpp"

#include <utility>

#include "base/bytes.hpp"
#include "os/fd_io.hpp"
#include "os/memory.hpp"
#include "os/os_error.hpp"

namespace gristmill::input {

namespace {
constexpr std::uint64_t kPunchBytes = 64 * kKiB; // a call for each page would cost more than it gives
} // namespace

Result<ItemFile> ItemFile::create() {
    Result<os::UniqueFd> fd = os::create_memfd("gristmill-items", 0);
    if (!fd)
        return fd.error();
    ItemFile file;
    file.fd_ = std::move(*fd);
    return file;
}

Result<void> ItemFile::append(std::string_view frames) {
    if (const int failed = os::pwrite_full(fd_.get(), bytes_of(frames), end_); failed != 0)
        return os::errno_error(ErrorKind::memory, failed, "no memory for items on their way");
    end_ += frames.size();
    return {};
}

void ItemFile::release(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t free = round_down(released_.release(begin, end), kPunchBytes);
    if (free <= punched_)
        return;
    os::punch_hole(fd_.get(), punched_, free - punched_);
    punched_ = free;
}

} // namespace gristmill::input
