#include "record_sets.hpp"

#include <array>

namespace gristmill::datagen {

namespace {
constexpr std::array<std::string_view, 4> names{"light", "medium", "heavy", "tokenize"};
}

std::string_view name_of(RecordSet set) noexcept { return names[static_cast<std::size_t>(set)]; }

std::optional<RecordSet> record_set_of(std::string_view name) noexcept {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name)
            return static_cast<RecordSet>(i);
    }
    return std::nullopt;
}

std::uint64_t default_seed(RecordSet set) noexcept {
    return set == RecordSet::tokenize ? 2024 : 42;
}

} // namespace gristmill::datagen
