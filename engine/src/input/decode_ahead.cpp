#include "input/decode_ahead.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "input/byte_source.hpp"

namespace gristmill::input {

namespace {
constexpr std::uint64_t kBlockBytes = 256 * kKiB;
} // namespace

DecodeAhead::DecodeAhead(std::unique_ptr<ByteSource> source, std::uint64_t bytes_max,
                         os::WakeDescriptor ready)
    : source_(std::move(source)), bytes_max_(bytes_max), ready_(std::move(ready)) {}

Result<std::unique_ptr<DecodeAhead>> DecodeAhead::start(std::unique_ptr<ByteSource> &source,
                                                        std::uint64_t bytes_max) {
    Result<os::WakeDescriptor> ready = os::WakeDescriptor::create();
    if (!ready)
        return ready.error();
    std::unique_ptr<DecodeAhead> ahead(
        new DecodeAhead(std::move(source), bytes_max, std::move(*ready)));
    Result<os::Thread> thread = os::Thread::start("gristmill/decode", std::nullopt,
                                                  [self = ahead.get()] { self->run(); });
    if (!thread) {
        source = std::move(ahead->source_);
        return thread.error();
    }
    ahead->thread_.emplace(std::move(*thread));
    return ahead;
}

DecodeAhead::~DecodeAhead() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    taken_.notify_all();
}

void DecodeAhead::run() {
    for (bool goes_on = true; goes_on;) {
        Result<std::uint64_t> got = std::uint64_t{0};
        std::vector<std::byte> block;
        try {
            block.resize(kBlockBytes);
            got = decode(block);
        } catch (const std::bad_alloc &) {
            got = Error{ErrorKind::memory, "no memory for what is decoded"};
        }
        std::unique_lock lock(mutex_);
        if (!got) {
            failure_ = std::move(got.error());
        } else if (*got == 0) {
            ended_ = true;
        } else {
            block.resize(*got);
            bytes_ += *got;
            blocks_.push_back(std::move(block));
        }
        ready_.signal();
        taken_.wait(lock, [this] { return stopping_ || ended_ || failure_ || bytes_ < bytes_max_; });
        goes_on = !stopping_ && !ended_ && !failure_;
    }
}

// 0: the end.
Result<std::uint64_t> DecodeAhead::decode(std::span<std::byte> room) {
    const ByteSource::Read read = source_->read(room);
    if (read.got == ByteSource::Got::failed)
        return source_->failure();
    return read.bytes;
}

DecodeAhead::Read DecodeAhead::read(std::span<std::byte> room) {
    const std::lock_guard lock(mutex_);
    if (blocks_.empty())
        return {failure_ ? Got::failed : ended_ ? Got::end : Got::nothing_yet, 0};
    const std::vector<std::byte> &block = blocks_.front();
    const std::uint64_t bytes = std::min<std::uint64_t>(room.size(), block.size() - given_);
    std::memcpy(room.data(), block.data() + given_, bytes);
    given_ += bytes;
    bytes_ -= bytes;
    if (given_ == block.size()) {
        blocks_.pop_front();
        given_ = 0;
        taken_.notify_all();
    }
    if (blocks_.empty() && !ended_ && !failure_)
        ready_.clear();
    return {Got::bytes, bytes};
}

} // namespace gristmill::input
