// What hwloc says of this machine, or of a described one.
#pragma once

#include <gristmill/error.hpp>
#include <gristmill/topology.hpp>

namespace gristmill::os {

// Completes CPUs whose os_index is set, or sets them when there are none: all that hwloc's source
// allows. Then nodes, distances and caches. A CPU that hwloc does not know stays as it is.
Result<void> describe_by_hwloc(const TopologySource &source, Topology &topology);

} // namespace gristmill::os
