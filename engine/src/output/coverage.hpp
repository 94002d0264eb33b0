// Proof that the retired batches cover every byte of every source exactly once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gristmill::output {

// Threads: egress.
// Keeps:   I17. Complete runs cover every byte of every source exactly once.
class Coverage {
  public:
    // A batch covered [begin, end) of a source; false when some of it was covered before.
    bool add(std::uint32_t source, std::uint64_t begin, std::uint64_t end);

    // Is all of [0, bytes) of the source covered?
    bool complete(std::uint32_t source, std::uint64_t bytes) const;

    // Bytes covered from the start of the source without a gap.
    std::uint64_t covered(std::uint32_t source) const;

  private:
    struct Source {
        std::uint64_t prefix = 0;                       // [0, prefix) is covered
        std::map<std::uint64_t, std::uint64_t> beyond{}; // begin -> end, apart from each other
    };
    std::vector<Source> sources_;
};

} // namespace gristmill::output
