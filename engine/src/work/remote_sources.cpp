#include "work/remote_sources.hpp"

#include <utility>

#include "os/process.hpp"

namespace gristmill::work {

record::OpenSource RemoteSources::at(std::uint16_t slot) const {
    record::OpenSource source = table_.at(slot);
    Opened &opened = opened_.at(slot);
    if (source.fd >= 0 && (!opened.fd.valid() || opened.generation != source.generation)) {
        Result<os::UniqueFd> fd = os::reopen(holder_, source.fd, false);
        if (!fd) { // too many, perhaps: without the others there is room
            for (Opened &other : opened_)
                other.fd.reset();
            fd = os::reopen(holder_, source.fd, false);
        }
        opened.fd = fd ? std::move(*fd) : os::UniqueFd();
        opened.generation = source.generation;
    }
    source.fd = opened.fd.get();
    return source;
}

} // namespace gristmill::work
