#include "record_sets.hpp"

#include <array>

namespace gristmill::datagen {

namespace {

constexpr std::array<std::string_view, 4> set_names{"light", "medium", "heavy", "tokenize"};
constexpr std::array<std::string_view, 2> stream_names{"reference", "fast"};
constexpr std::array<std::string_view, 3> compression_names{"none", "zst", "gz"};

template <class Named, std::size_t Count>
std::optional<Named> named(const std::array<std::string_view, Count> &names,
                           std::string_view name) noexcept {
    for (std::size_t i = 0; i < Count; ++i) {
        if (names[i] == name)
            return static_cast<Named>(i);
    }
    return std::nullopt;
}

} // namespace

std::string_view name_of(RecordSet set) noexcept {
    return set_names[static_cast<std::size_t>(set)];
}
std::string_view name_of(Stream stream) noexcept {
    return stream_names[static_cast<std::size_t>(stream)];
}
std::string_view name_of(Compression compression) noexcept {
    return compression_names[static_cast<std::size_t>(compression)];
}

std::optional<RecordSet> record_set_of(std::string_view name) noexcept {
    return named<RecordSet>(set_names, name);
}
std::optional<Stream> stream_of(std::string_view name) noexcept {
    return named<Stream>(stream_names, name);
}
std::optional<Compression> compression_of(std::string_view name) noexcept {
    return named<Compression>(compression_names, name);
}

std::uint64_t default_seed(RecordSet set) noexcept {
    return set == RecordSet::tokenize ? 2024 : 42;
}

} // namespace gristmill::datagen
