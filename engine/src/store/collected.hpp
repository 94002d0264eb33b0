// Memory that collected output lies in, whoever filled it.
#pragma once

#include <vector>

#include "os/memory.hpp"
#include "store/collection.hpp"
#include "store/collection_file.hpp"

namespace gristmill::store {

struct Collected {
    std::vector<Chunks> chunks{};         // by threads
    std::vector<CollectionFile> files{};  // by processes
    std::vector<os::Mapping> mappings{};  // by processes that worked record by record
};

} // namespace gristmill::store
