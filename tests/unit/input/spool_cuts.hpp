// A source of the tests whose bytes go through a small spool: somebody writes to its pipe, somebody
// takes the batches.
#pragma once

#include <deque>
#include <fcntl.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "input/spooled_source.hpp"
#include "os/fd_io.hpp"

namespace gristmill::test {

// What the tests of spooled sources share.
namespace spooled {

inline constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kSlot = 64 << 10;

inline Framing delimited(const std::string &delimiter) { return {Framing::Kind::delimiter, delimiter, 0}; }
inline Framing fixed(std::uint64_t bytes) { return {Framing::Kind::fixed, "", bytes}; }
inline const Framing kFrames{Framing::Kind::u32le, "", 0};
inline const Framing kLines = delimited("\n");

inline std::string frame(const std::string &record) {
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8)
        bytes += static_cast<char>(record.size() >> shift & 0xff);
    return bytes + record;
}

} // namespace spooled

// A pipe whose writing end does not block, large enough for what these tests write at once.
class InputPipe {
  public:
    InputPipe() {
        if (::pipe2(ends_, O_CLOEXEC) != 0)
            throw std::runtime_error("pipe2");
        ::fcntl(ends_[1], F_SETFL, O_WRONLY | O_NONBLOCK);
    }
    ~InputPipe() {
        ::close(ends_[0]);
        close();
    }
    InputPipe(const InputPipe &) = delete;
    InputPipe &operator=(const InputPipe &) = delete;

    int fd() const { return ends_[0]; }
    // How much of it went in.
    std::size_t write(std::string_view bytes) const {
        const ssize_t put = ::write(ends_[1], bytes.data(), bytes.size());
        return put < 0 ? 0 : static_cast<std::size_t>(put);
    }
    void close() {
        if (ends_[1] >= 0)
            ::close(ends_[1]);
        ends_[1] = -1;
    }
    input::ByteSource source(const std::string &buffered = {}) const {
        auto adopted = os::InputDescriptor::adopt(ends_[0], std::nullopt, "pipe");
        return input::ByteSource(std::move(adopted.value()), buffered, "'pipe'");
    }

  private:
    int ends_[2] = {-1, -1};
};

struct TakenCut {
    input::SpooledCut cut{};
    std::string bytes{}; // as they lie in the file; of an oversized record the first ones
};

// Feeds all data to a SpooledSource and takes its cuts. Slots are released after `in_flight` more.
class SpooledRun {
  public:
    using Next = input::SpooledSource::Next;

    SpooledRun(const Framing &framing, std::uint64_t max_record, std::uint64_t read_bytes,
               std::uint64_t limit_bytes = std::uint64_t{1} << 20,
               const std::string &buffered = {}, const std::vector<store::SpoolNode> &nodes = {{}})
        : framing_(framing),
          spool_(std::move(store::Spool::create(64 << 10, limit_bytes, nodes).value())),
          source_(std::in_place, spool_, pipe_.source(buffered), "'pipe'", framing_, max_record,
                  read_bytes) {}

    InputPipe &pipe() { return pipe_; }
    store::Spool &spool() { return spool_; }
    input::SpooledSource &source() { return *source_; }
    const std::vector<TakenCut> &cuts() const { return cuts_; }
    std::size_t in_flight() const { return held_.size(); }

    Next next(const input::CutSize &size, bool flush = false) {
        input::SpooledCut cut;
        const Next next = source_->next(size, flush, held_.empty(), cut);
        if (next == Next::cut)
            keep(cut);
        return next;
    }
    void release_one() {
        const TakenCut &taken = cuts_[cuts_.size() - held_.size()];
        if (read(taken.cut) != taken.bytes)
            throw std::logic_error("a batch changed while it was held");
        spool_.release(held_.front());
        held_.pop_front();
    }
    void release_all() {
        while (!held_.empty())
            release_one();
    }
    // When nobody has a slot any more.
    std::uint64_t bytes_left_in_use() {
        release_all();
        source_.reset();
        return spool_.bytes_in_use();
    }

  private:
    std::string read(const input::SpooledCut &cut) const {
        const std::uint64_t bytes = cut.record_bytes > 0 ? std::min<std::uint64_t>(cut.record_bytes, 4096)
                                                         : cut.end - cut.begin;
        std::string found(bytes, '\0');
        os::pread_full(spool_.fd(), {reinterpret_cast<std::byte *>(found.data()), found.size()},
                       cut.origin + cut.begin);
        return found;
    }
    void keep(const input::SpooledCut &cut) {
        cuts_.push_back({cut, read(cut)});
        held_.push_back(cut.slot);
    }

    const Framing framing_;
    InputPipe pipe_;
    store::Spool spool_;
    std::optional<input::SpooledSource> source_;
    std::vector<TakenCut> cuts_;
    std::deque<std::uint32_t> held_;
};

} // namespace gristmill::test
