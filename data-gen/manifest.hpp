// What a generated file holds, written down beside it as "<file>.manifest.json".
#ifndef GRISTMILL_DATAGEN_MANIFEST_HPP
#define GRISTMILL_DATAGEN_MANIFEST_HPP

#include <cstdint>
#include <optional>
#include <string>

#include "generate.hpp"

namespace gristmill::datagen {

struct Manifest {
    RecordSet set = RecordSet::light;
    Stream stream = Stream::reference;
    std::uint64_t seed = 0;
    double malformed_pct = 0;
    bool large_documents = false;
    Range range = {};          ///< numbers of the records in the file
    std::uint64_t records = 0; ///< in the file
    std::uint64_t valid = 0;   ///< how many the set's payload has a result for
    std::uint64_t bytes = 0;   ///< of the records, before compression
    std::string xxh3_128 = {}; ///< digest of these bytes, 32 hexadecimal digits
    Compression compression = Compression::none;
    std::uint64_t file_bytes = 0; ///< of the file as it is

    bool operator==(const Manifest &) const = default;
};

/// Where the manifest of `file` lies.
std::string manifest_path(const std::string &file);

/// What the spec says; of the rest, which takes the records themselves, nothing.
Manifest manifest_of(const GenerateSpec &spec);

/// Whether generate() with this spec would make the file again.
bool describes(const Manifest &manifest, const GenerateSpec &spec);

/// As JSON, a line for each field.
std::string manifest_text(const Manifest &manifest);

/// Reads the manifest of `file`. An error_number of 0 means that it can be read, but is no
/// manifest, or one of another version.
std::optional<GenerateError> read_manifest(const std::string &file, Manifest &manifest) noexcept;

/// Reads `file`, and says how it differs from its manifest; its vocabulary too, if it has one.
/// Returns none when it is all there; an error_number of 0 when something differs; and else why
/// it cannot be read. `progress`: told now and then; the records come all at the end.
std::optional<GenerateError> verify(const std::string &file,
                                    const Progress &progress = {}) noexcept;

} // namespace gristmill::datagen

#endif
