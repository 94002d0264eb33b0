// The record sets, the streams and files they come in, and their names.
#ifndef GRISTMILL_DATAGEN_RECORD_SETS_HPP
#define GRISTMILL_DATAGEN_RECORD_SETS_HPP

#include <cstdint>
#include <optional>
#include <string_view>

namespace gristmill::datagen {

enum class RecordSet { light, medium, heavy, tokenize };

enum class Stream {
    reference, ///< sequential; reproduces the published data to the byte
    fast,      ///< record i depends on (seed, i) alone
};

/// How a file holds its records.
enum class Compression { none, zstd, gzip };

/// "light", "medium", "heavy", "tokenize".
std::string_view name_of(RecordSet set) noexcept;
/// "reference", "fast".
std::string_view name_of(Stream stream) noexcept;
/// "none", "zst", "gz".
std::string_view name_of(Compression compression) noexcept;

/// What has that name.
std::optional<RecordSet> record_set_of(std::string_view name) noexcept;
std::optional<Stream> stream_of(std::string_view name) noexcept;
std::optional<Compression> compression_of(std::string_view name) noexcept;

/// The seed of the published data.
std::uint64_t default_seed(RecordSet set) noexcept;

} // namespace gristmill::datagen

#endif
