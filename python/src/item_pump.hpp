// Items pulled by a thread that may have to be left behind inside the user's iterator.
#pragma once

#include <condition_variable>
#include <mutex>

#include "item_puller.hpp"

namespace gristmill::python {

// Between the engine's thread that wants items, and a daemon thread of Python that pulls them: the
// engine never waits inside the iterator, so it can always leave.
//
// Threads: one calls serve(), the engine's calls the feed.
class ItemPump {
  public:
    explicit ItemPump(py::object iterator) : puller_(std::move(iterator)) {}
    ItemPump(const ItemPump &) = delete;
    ItemPump &operator=(const ItemPump &) = delete;

    // Pulls what is asked for, until the items end or nobody wants them any more. Needs the GIL.
    void serve();
    // Items wait no longer than the flush interval for others that are slower.
    ItemFeed feed();
    // Nobody wants items any more.
    void give_up();
    // Raises what the iterator, or a pickle, raised.
    void rethrow() { puller_.rethrow(); }

  private:
    Result<ItemChunk> take(std::uint64_t records_max, std::uint64_t bytes_max);
    bool full() const;
    bool ended() const { return given_up_ || failure_ || chunk_.end; }
    bool wait_until_wanted();
    bool pull_one();

    ItemPuller puller_;
    std::mutex mutex_; // guards what follows
    std::condition_variable news_;
    std::uint64_t records_max_ = 0; // 0: nothing is asked for
    std::uint64_t bytes_max_ = 0;
    ItemChunk chunk_; // pulled, and not taken
    std::optional<Error> failure_;
    bool given_up_ = false;
};

} // namespace gristmill::python
