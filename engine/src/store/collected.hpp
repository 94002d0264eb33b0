// Memory that collected output lies in, whoever filled it.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "os/memory.hpp"
#include "store/collection.hpp"
#include "store/collection_file.hpp"

namespace gristmill::store {

// Collection files that were written before: their pages need not be made anew. One pool for the
// process, since results outlive engines; it is bounded in bytes and in descriptors.
//
// Threads: any.
class CollectionFilePool {
  public:
    static CollectionFilePool &process();

    // A file that was used before, or a new one.
    Result<CollectionFile> take();
    void give_back(CollectionFile file);
    // A run is over, its results keep this file. False: too many descriptors are open for that
    // already, the file is to give up its own.
    bool may_stay_open();
    void closed();
    void clear(); // when the last engine goes

  private:
    std::mutex mutex_;
    std::vector<CollectionFile> warm_;
    std::uint64_t warm_bytes_ = 0;
    std::uint32_t open_ = 0; // descriptors that results keep
};

// Owns collection files, one for each worker, and gives them back to the pool.
class CollectionFiles {
  public:
    CollectionFiles() = default;
    CollectionFiles(CollectionFiles &&) noexcept = default;
    CollectionFiles &operator=(CollectionFiles &&other) noexcept {
        files_.swap(other.files_);
        return *this;
    }
    ~CollectionFiles();

    // So many of them, none of which holds anything that matters.
    Result<void> make(std::size_t count);
    // The run is over: descriptors that are too many are closed.
    void settle();

    std::size_t size() const { return files_.size(); }
    bool empty() const { return files_.empty(); }
    CollectionFile &operator[](std::size_t i) { return files_[i]; }

  private:
    std::vector<CollectionFile> files_;
};

struct Collected {
    std::vector<Chunks> chunks{};        // by threads
    CollectionFiles files{};             // by processes
    std::vector<os::Mapping> mappings{}; // by processes that worked record by record
};

} // namespace gristmill::store
