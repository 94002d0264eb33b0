// Where records come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gristmill {

// A file, or anything else that bytes can be read from: pipes, FIFOs, sockets, terminals, devices.
// What is compressed by gzip, zstd, xz or lz4 is recognised by its first bytes, and decompressed.
struct Source {
    std::string path{};  // to be opened when its turn comes; with a descriptor only a name
    int descriptor = -1; // >= 0: read from where it stands; neither moved, if it can be helped, nor
                         // closed. It stays open until the run has ended
    std::optional<std::uint64_t> offset{}; // of a descriptor that can be seeked: read from there
    std::string buffered{}; // bytes that come first: somebody has read them already

    Source() = default;
    Source(std::string file) : path(std::move(file)) {}
    Source(const char *file) : path(file) {}
    // `name`: for people, such as "<stdin>".
    static Source from_descriptor(int descriptor, std::string name) {
        Source source(std::move(name));
        source.descriptor = descriptor;
        return source;
    }
};

using Sources = std::vector<Source>;

} // namespace gristmill
