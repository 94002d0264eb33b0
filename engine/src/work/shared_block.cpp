#include "work/shared_block.hpp"

#include <algorithm>
#include <utility>

namespace gristmill::work {

Result<SharedBlock> SharedBlock::create(const Plan &plan) {
    const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
    const auto workers = std::max<std::uint32_t>(1, std::uint32_t(plan.workers.size()));
    const std::uint32_t capacity = RunState::entries_for_small_batches(workers);
    const std::uint64_t bytes = round_up(RunState::block_bytes(workers, nodes, capacity), 128) +
                                record::kSourceSlotsMax * sizeof(record::OpenSource);
    SharedBlock block;
    Result<os::UniqueFd> fd = os::create_memfd("gristmill-run", bytes);
    if (!fd)
        return fd.error();
    Result<os::Mapping> mapping = os::map_shared(fd->get(), 0, bytes);
    if (!mapping)
        return mapping.error();
    block.fd_ = std::move(*fd);
    block.mapping_ = std::move(*mapping);
    const RunState state = RunState::create(block.mapping_.data(), workers, nodes, capacity,
                                            RunState::entries_for(workers));
    for (std::uint32_t i = 0; i < plan.workers.size(); ++i)
        state.slot(i).node = plan.workers[i].node;
    for (std::uint32_t i = 0; i < plan.workers.size(); ++i)
        if (const auto memory_node = plan.placed_on(plan.workers[i].node))
            state.slot(i).memory_node = static_cast<std::int32_t>(*memory_node);
    for (std::uint32_t node = 0; node < nodes; ++node)
        std::copy(plan.nodes[node].steal_order.begin(), plan.nodes[node].steal_order.end(),
                  state.steal_order(node).begin());
    return block;
}

Result<SharedBlock> SharedBlock::attach(int fd) {
    SharedBlock block;
    Result<os::Mapping> mapping = os::map_shared(fd, 0, os::memfd_bytes(fd));
    if (!mapping)
        return mapping.error();
    block.mapping_ = std::move(*mapping);
    return block;
}

} // namespace gristmill::work
