// Sources that another process has open, opened anew by a worker when it first needs them.
#pragma once

#include <cstdint>
#include <vector>

#include "os/unique_fd.hpp"
#include "record/source_table.hpp"

namespace gristmill::work {

// Threads: the worker's.
// Owns:    a descriptor for each source that it has worked on lately.
class RemoteSources final : public record::OpenSources {
  public:
    // `table`: that of the process `holder`, in shared memory.
    RemoteSources(const record::SourceTable &table, std::int32_t holder)
        : table_(table), holder_(holder), opened_(table.size()) {}

    record::OpenSource at(std::uint16_t slot) const override;

  private:
    struct Opened {
        std::uint32_t generation = 0;
        os::UniqueFd fd{};
    };
    const record::SourceTable &table_;
    const std::int32_t holder_;
    mutable std::vector<Opened> opened_; // a cache
};

} // namespace gristmill::work
