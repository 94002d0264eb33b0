#include "store/output_reader.hpp"

#include <utility>

#include "base/check.hpp"

namespace gristmill::store {

OutputReader::OutputReader(const std::vector<OutputMemory> &memory,
                           std::vector<ReleaseCounters> counters)
    : memory_(memory), counters_(std::move(counters)), ring_prefix_(counters_.size()),
      overflow_prefix_(counters_.size()) {}

std::optional<OutputView> OutputReader::view(std::uint32_t worker,
                                             const OutputLocation &location) {
    const std::optional<const std::byte *> data = locate(worker, location);
    if (!data)
        return std::nullopt;
    if (location.place == OutputPlace::none)
        return OutputView{};
    return OutputView{{*data, location.bytes}, {*data + location.bytes, location.fault_bytes}};
}

std::optional<const std::byte *> OutputReader::locate(std::uint32_t worker,
                                                      const OutputLocation &location) {
    const std::uint64_t bytes = location.bytes + location.fault_bytes;
    if (bytes < location.bytes)
        return std::nullopt;
    switch (location.place) {
    case OutputPlace::none:
        return nullptr;
    case OutputPlace::collection: // only ever written by a thread of this process
        return reinterpret_cast<const std::byte *>(location.data);
    case OutputPlace::ring: {
        if (worker >= memory_.size() || bytes > memory_[worker].ring_bytes)
            return std::nullopt;
        const OutputMemory &memory = memory_[worker];
        const std::uint64_t at = location.data % memory.ring_bytes;
        if (!memory.mirrored && at + bytes > memory.ring_bytes)
            return std::nullopt;
        return memory.ring_mapping.data() + at;
    }
    case OutputPlace::overflow: {
        if (worker >= memory_.size() || location.data % kPageBytes != 0)
            return std::nullopt;
        const std::uint64_t file_bytes = os::memfd_bytes(memory_[worker].overflow.get());
        if (location.data > file_bytes || bytes > file_bytes - location.data)
            return std::nullopt;
        Result<os::Mapping> mapping =
            os::map_shared(memory_[worker].overflow.get(), location.data, bytes);
        if (!mapping)
            return std::nullopt;
        overflow_mapping_ = std::move(*mapping);
        return overflow_mapping_->data();
    }
    }
    return std::nullopt;
}

void OutputReader::release(std::uint32_t worker, const OutputLocation &location) {
    if (location.place == OutputPlace::ring) {
        counters_[worker].ring->store(
            ring_prefix_[worker].release(location.begin, location.end));
    } else if (location.place == OutputPlace::overflow) {
        overflow_mapping_.reset();
        os::punch_hole(memory_[worker].overflow.get(), location.data,
                       round_up(location.bytes + location.fault_bytes, kPageBytes));
        counters_[worker].overflow->store(
            overflow_prefix_[worker].release(location.begin, location.end));
    }
}

} // namespace gristmill::store
