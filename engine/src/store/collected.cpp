#include "store/collected.hpp"

#include <ranges>

#include "base/bytes.hpp"

namespace gristmill::store {

namespace {
constexpr std::uint64_t kWarmBytesMax = 512 * kMiB;
constexpr std::uint64_t kWarmFileBytesMax = 256 * kMiB; // of one file; what lies beyond is given back
constexpr std::size_t kWarmFilesMax = 32;
constexpr std::uint32_t kOpenMax = 64;
} // namespace

CollectionFilePool &CollectionFilePool::process() {
    static auto *pool = new CollectionFilePool; // never destroyed: results may die after it
    return *pool;
}

Result<CollectionFile> CollectionFilePool::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!warm_.empty()) {
            CollectionFile file = std::move(warm_.back());
            warm_.pop_back();
            warm_bytes_ -= file.bytes();
            return file;
        }
    }
    return CollectionFile::create();
}

void CollectionFilePool::give_back(CollectionFile file) {
    if (!file.is_open() || !ChunkPool::process().has_engines())
        return;
    file.shorten(kWarmFileBytesMax);
    const std::lock_guard lock(mutex_);
    if (warm_.size() == kWarmFilesMax || warm_bytes_ + file.bytes() > kWarmBytesMax)
        return;
    warm_bytes_ += file.bytes();
    warm_.push_back(std::move(file));
}

bool CollectionFilePool::may_stay_open() {
    const std::lock_guard lock(mutex_);
    if (open_ == kOpenMax)
        return false;
    ++open_;
    return true;
}

void CollectionFilePool::closed() {
    const std::lock_guard lock(mutex_);
    --open_;
}

void CollectionFilePool::clear() {
    std::vector<CollectionFile> unneeded; // closed after the lock is released
    const std::lock_guard lock(mutex_);
    unneeded.swap(warm_);
    warm_bytes_ = 0;
}

Result<void> CollectionFiles::make(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        Result<CollectionFile> file = CollectionFilePool::process().take();
        if (!file)
            return file.error();
        files_.push_back(std::move(*file));
    }
    return {};
}

void CollectionFiles::settle() {
    for (CollectionFile &file : files_)
        if (!file.counted && !(file.counted = CollectionFilePool::process().may_stay_open()))
            file.close();
}

CollectionFiles::~CollectionFiles() {
    // The last in is the first out: each worker gets the file it had before.
    for (CollectionFile &file : std::views::reverse(files_)) {
        if (std::exchange(file.counted, false))
            CollectionFilePool::process().closed();
        CollectionFilePool::process().give_back(std::move(file));
    }
}

} // namespace gristmill::store
