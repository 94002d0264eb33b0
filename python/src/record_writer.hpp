// Output records, framed like the input, written straight to where the output stays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include <gristmill/options.hpp>

#include "store/output_area.hpp"

namespace gristmill::python {

// Threads: the worker's.
class RecordWriter {
  public:
    static constexpr std::uint64_t kRecordBytesMax = std::numeric_limits<std::uint32_t>::max();

    explicit RecordWriter(const Framing &framing)
        : framing_(framing), header_bytes_(framing.kind == Framing::Kind::u32le ? 4 : 0) {}

    // Begins a batch whose output is about so large.
    void begin(store::OutputArea &output, std::uint64_t expected_bytes) {
        output_ = &output;
        at_ = end_ = start_ = nullptr;
        next_room_ = expected_bytes + kRoomBytesMin;
        out_of_memory_ = false;
        lengths_.clear();
    }

    void add(std::string_view record) { add({}, record); }

    // A record of two pieces.
    void add(std::string_view begin, std::string_view rest) {
        const std::uint64_t size = begin.size() + rest.size();
        const std::string_view behind =
            framing_.kind == Framing::Kind::delimiter ? framing_.delimiter : std::string_view();
        if (size > kRecordBytesMax || !has_room(header_bytes_ + size + behind.size())) {
            out_of_memory_ = true;
            return;
        }
        for (std::uint32_t i = 0; i < header_bytes_; ++i)
            *at_++ = static_cast<std::byte>(size >> (8 * i));
        append(begin);
        append(rest);
        append(behind);
        lengths_.push_back(static_cast<std::uint32_t>(size));
    }

    // Bytes that are framed already.
    void add_whole(std::string_view bytes) {
        if (!has_room(bytes.size()))
            out_of_memory_ = true;
        else
            append(bytes);
    }

    // Hands over what was added so far; more may follow.
    void finish() {
        if (at_ != start_)
            output_->commit(static_cast<std::uint64_t>(at_ - start_));
        at_ = end_ = start_ = nullptr;
    }

    bool out_of_memory() const { return out_of_memory_; }
    const std::vector<std::uint32_t> &lengths() const { return lengths_; }

  private:
    static constexpr std::uint64_t kRoomBytesMin = 4096;

    bool has_room(std::uint64_t bytes) {
        if (static_cast<std::uint64_t>(end_ - at_) >= bytes)
            return true;
        finish();
        const std::uint64_t wanted = std::max(next_room_, bytes);
        start_ = at_ = output_->reserve(wanted);
        end_ = at_ ? at_ + wanted : nullptr;
        next_room_ = std::max(next_room_ / 2, kRoomBytesMin);
        return at_ != nullptr;
    }

    void append(std::string_view bytes) {
        if (!bytes.empty())
            std::memcpy(at_, bytes.data(), bytes.size());
        at_ += bytes.size();
    }

    const Framing &framing_;
    const std::uint32_t header_bytes_;
    store::OutputArea *output_ = nullptr;
    std::byte *start_ = nullptr;
    std::byte *at_ = nullptr;
    std::byte *end_ = nullptr;
    std::uint64_t next_room_ = 0;
    bool out_of_memory_ = false;
    std::vector<std::uint32_t> lengths_;
};

} // namespace gristmill::python
