#include "store/collection_file.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "os/fd_io.hpp"

namespace gristmill::store {

namespace {
constexpr std::uint64_t kFirstBufferBytes = 256 * kKiB;
constexpr std::uint64_t kUsualBufferBytes = 16 * kMiB;
} // namespace

Result<CollectionFile> CollectionFile::create() {
    Result<os::UniqueFd> fd = os::create_memfd("gristmill-collection", 0);
    if (!fd)
        return fd.error();
    static std::atomic<std::uint64_t> files{0};
    CollectionFile file;
    file.id_ = ++files;
    file.fd_ = std::move(*fd);
    return file;
}

const std::byte *CollectionFile::at(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t file_bytes = os::memfd_bytes(fd_.get());
    if (offset > file_bytes || bytes > file_bytes - offset)
        return nullptr;
    const std::uint64_t begin = round_down(offset, kCollectionWindowBytes);
    const std::uint64_t wanted = offset - begin + bytes;
    auto &window = windows_[begin];
    if (window.bytes() < wanted) {
        // What lies behind the file's end is never touched.
        Result<os::Mapping> mapping = os::map_shared(
            fd_.get(), begin, round_up(wanted, kCollectionWindowBytes));
        if (!mapping || window.bytes() > 0) // a window that is in use stays where it is
            return nullptr;
        window = std::move(*mapping);
    }
    return window.data() + (offset - begin);
}

void CollectionFile::shorten(std::uint64_t bytes) {
    const std::uint64_t all = os::memfd_bytes(fd_.get());
    kept_bytes_ = std::min(all, bytes);
    windows_.erase(windows_.lower_bound(bytes), windows_.end());
    // A window that reaches behind the end was made for one large batch.
    std::erase_if(windows_, [](const auto &window) {
        return window.second.bytes() > kCollectionWindowBytes;
    });
    if (all > bytes)
        os::punch_hole(fd_.get(), bytes, round_up(all - bytes, kPageBytes));
}

std::uint64_t CollectionFileArea::begin_of(std::uint64_t bytes) const {
    const std::uint64_t left = round_up(position_ + 1, kCollectionWindowBytes) - position_;
    return bytes > left ? position_ + left : position_;
}

// What is committed moves along.
void CollectionFileArea::use(std::byte *data, std::uint64_t bytes) {
    if (used_ > 0 && data != base_)
        std::memcpy(data, base_, used_);
    base_ = data;
    capacity_ = bytes;
}

bool CollectionFileArea::grow(std::uint64_t bytes) {
    const std::uint64_t needed = used_ + bytes;
    const std::uint64_t begin = begin_of(needed);
    if (const WarmFile::Room room = file_.room(begin, needed); room.data) {
        use(room.data, room.bytes);
        in_place_ = true;
        begin_ = begin;
        return true;
    }
    if (buffer_.bytes() >= needed) {
        use(buffer_.data(), buffer_.bytes());
    } else {
        Result<os::Mapping> larger =
            os::map_anonymous(std::max(kFirstBufferBytes, 2 * needed), os::Pages::normal);
        if (!larger)
            return false;
        use(larger->data(), larger->bytes());
        buffer_ = std::move(*larger);
    }
    in_place_ = false;
    return true;
}

OutputLocation CollectionFileArea::finish(const OutputTail &tail) {
    OutputLocation location;
    if (used_ > 0) {
        const std::uint64_t begin = in_place_ ? begin_ : begin_of(used_);
        location.place = OutputPlace::file;
        location.data = begin;
        location.bytes = used_ - tail.bytes();
        location.length_bytes = tail.length_bytes;
        location.fault_bytes = tail.fault_bytes;
        location.begin = position_;
        location.end = begin + used_;
        if (!in_place_ && os::pwrite_full(file_.fd(), {base_, used_}, begin) != 0)
            location.place = OutputPlace::lost;
        else
            position_ = location.end;
    }
    if (in_place_) { // the next batch goes on behind this one
        base_ += used_;
        capacity_ -= used_;
        begin_ = position_;
    } else if (buffer_.bytes() > kUsualBufferBytes) {
        buffer_ = {};
        base_ = nullptr;
        capacity_ = 0;
    }
    used_ = reserved_ = 0;
    return location;
}

} // namespace gristmill::store
