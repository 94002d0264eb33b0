#include "store/output_reader.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "store/isolation_area.hpp"

namespace gristmill::store {

void OutputReach::include(const OutputLocation &location) {
    if (location.place == OutputPlace::ring)
        ring = std::max(ring, location.end);
    else if (location.place == OutputPlace::overflow)
        overflow = std::max(overflow, location.end);
    else if (location.place == OutputPlace::file)
        file = std::max(file, location.end);
}

OutputReader::OutputReader(const OutputPlaces &places, std::vector<ReleaseCounters> counters)
    : places_(places), counters_(std::move(counters)), ring_prefix_(counters_.size()),
      overflow_prefix_(counters_.size()), reach_(counters_.size()) {}

std::optional<OutputView> OutputReader::view(std::uint32_t worker,
                                             const OutputLocation &location) {
    const std::optional<const std::byte *> data = locate(worker, location);
    if (!data)
        return std::nullopt;
    if (location.place == OutputPlace::none)
        return OutputView{};
    reach_[worker].include(location); // it stays where it is until it is released
    const std::byte *lengths = *data + location.bytes;
    return OutputView{{*data, location.bytes},
                      {lengths, location.length_bytes},
                      {lengths + location.length_bytes, location.fault_bytes}};
}

// Whatever a worker wrote is checked before it is believed.
std::optional<const std::byte *> OutputReader::locate(std::uint32_t worker,
                                                      const OutputLocation &location) {
    const std::uint64_t bytes = location.whole_bytes();
    if (bytes < location.bytes || bytes < location.length_bytes || bytes < location.fault_bytes ||
        worker >= counters_.size())
        return std::nullopt;
    const std::byte *data = nullptr;
    switch (location.place) {
    case OutputPlace::none:
        return nullptr;
    case OutputPlace::lost:
        return std::nullopt;
    case OutputPlace::collection:
        if (places_.threads)
            data = reinterpret_cast<const std::byte *>(location.data);
        break;
    case OutputPlace::file:
        if (places_.collected && worker < places_.collected->files.size())
            data = places_.collected->files[worker].at(location.data, bytes);
        break;
    case OutputPlace::ring:
        data = locate_in_ring(worker, location);
        break;
    case OutputPlace::overflow:
        if (places_.rings && worker < places_.rings->size() &&
            overflow_prefix_[worker].fits(location.begin, location.end))
            data = map_part((*places_.rings)[worker].overflow.get(), location.data, bytes);
        break;
    case OutputPlace::isolation:
        data = map_part(places_.isolation_fd, location.data, bytes);
        break;
    }
    if (!data)
        return std::nullopt;
    return data;
}

const std::byte *OutputReader::locate_in_ring(std::uint32_t worker,
                                              const OutputLocation &location) {
    const std::uint64_t bytes = location.whole_bytes();
    if (!places_.rings || worker >= places_.rings->size())
        return nullptr;
    const OutputMemory &memory = (*places_.rings)[worker];
    if (bytes > memory.ring_bytes || location.begin > location.data ||
        location.end - location.begin > memory.ring_bytes || location.data > location.end ||
        bytes > location.end - location.data ||
        !ring_prefix_[worker].fits(location.begin, location.end))
        return nullptr;
    const std::uint64_t at = location.data % memory.ring_bytes;
    if (!memory.mirrored && at + bytes > memory.ring_bytes)
        return nullptr;
    return memory.ring_mapping.data() + at;
}

const std::byte *OutputReader::map_part(int fd, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t file_bytes = os::memfd_bytes(fd);
    if (offset % kPageBytes != 0 || offset > file_bytes || bytes > file_bytes - offset)
        return nullptr;
    Result<os::Mapping> mapping = os::map_shared(fd, offset, bytes);
    if (!mapping)
        return nullptr;
    part_ = std::move(*mapping);
    return part_.data();
}

void OutputReader::release(std::uint32_t worker, const OutputLocation &location) {
    const std::uint64_t bytes = round_up(location.whole_bytes(), kPageBytes);
    switch (location.place) {
    case OutputPlace::ring:
        counters_[worker].ring->store(ring_prefix_[worker].release(location.begin, location.end));
        break;
    case OutputPlace::overflow:
        part_ = {};
        os::punch_hole((*places_.rings)[worker].overflow.get(), location.data, bytes);
        counters_[worker].overflow->store(
            overflow_prefix_[worker].release(location.begin, location.end));
        break;
    case OutputPlace::isolation:
        release_isolated(location);
        break;
    default:
        break;
    }
}

// Notes and lengths were copied to where they were viewed; the rest is kept, or goes too.
void OutputReader::release_isolated(const OutputLocation &location) {
    const std::uint64_t region = round_down(location.data, kIsolationRegionBytes);
    std::uint64_t kept = 0;
    if (places_.keep_isolated) {
        places_.collected->mappings.push_back(std::move(part_));
        kept = kIsolationNotesOffset;
    }
    os::punch_hole(places_.isolation_fd, region + kept, kIsolationRegionBytes - kept);
    part_ = {};
}

} // namespace gristmill::store
