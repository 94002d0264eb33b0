#include "item_pump.hpp"

#include <chrono>
#include <utility>

#include "gil.hpp"

namespace gristmill::python {

namespace {
constexpr std::chrono::milliseconds kPatience(5); // the flush interval
} // namespace

bool ItemPump::full() const {
    return chunk_.records >= records_max_ || chunk_.frames.size() >= bytes_max_;
}

void ItemPump::serve() {
    while (wait_until_wanted())
        while (pull_one()) {
        }
}

// False: nothing will be wanted any more.
bool ItemPump::wait_until_wanted() {
    const GilRelease released;
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return ended() || (records_max_ > 0 && !full()); });
    return !ended();
}

// One by one: the next item may take its time, and the ones before it must not wait for it. False: no
// more now.
bool ItemPump::pull_one() {
    Result<ItemChunk> pulled = puller_.pull(1, 1);
    const std::lock_guard lock(mutex_); // whoever waits for it with the GIL free
    const bool first = chunk_.records == 0;
    if (pulled) {
        chunk_.frames += pulled->frames;
        chunk_.records += pulled->records;
        chunk_.end = pulled->end;
    } else {
        failure_ = std::move(pulled.error());
    }
    const bool goes_on = !ended() && records_max_ > 0 && !full();
    if (first || !goes_on)
        news_.notify_all();
    return goes_on;
}

ItemFeed ItemPump::feed() {
    ItemFeed feed;
    feed.pull = [this](std::uint64_t records_max, std::uint64_t bytes_max) {
        return take(records_max, bytes_max);
    };
    feed.give_up = [this] { give_up(); };
    return feed;
}

void ItemPump::give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    news_.notify_all();
}

Result<ItemChunk> ItemPump::take(std::uint64_t records_max, std::uint64_t bytes_max) {
    std::unique_lock lock(mutex_);
    records_max_ = records_max;
    bytes_max_ = bytes_max;
    news_.notify_all();
    const auto over = [&] { return ended() || full(); };
    news_.wait(lock, [&] { return over() || chunk_.records > 0; });
    news_.wait_for(lock, kPatience, over);
    records_max_ = 0;
    if (given_up_)
        return Error{ErrorKind::interrupted, "the items are not wanted any more"};
    if (chunk_.records == 0 && failure_)
        return *failure_;
    return std::exchange(chunk_, ItemChunk{.end = chunk_.end});
}

} // namespace gristmill::python
