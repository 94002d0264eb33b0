// The record sets, the streams they come in, and their names.
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

/// "light", "medium", "heavy", "tokenize".
std::string_view name_of(RecordSet set) noexcept;

/// The set of that name.
std::optional<RecordSet> record_set_of(std::string_view name) noexcept;

/// The seed of the published data.
std::uint64_t default_seed(RecordSet set) noexcept;

} // namespace gristmill::datagen

#endif
