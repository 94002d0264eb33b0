// Spoiling good records, so that a payload's care can be tested.
#ifndef GRISTMILL_DATAGEN_MALFORMED_HPP
#define GRISTMILL_DATAGEN_MALFORMED_HPP

#include <cstddef>
#include <cstdint>
#include <string>

#include "draws.hpp"

namespace gristmill::datagen {

/// In the order of the choice.
enum class Malformed {
    truncated,     ///< cut somewhere behind its tenth byte
    missing_field, ///< without one of its top-level fields
    wrong_type,    ///< with a "timestamp" that is a string
    garbage,       ///< "{" and 20 to 200 times "x"
    empty,         ///< no byte at all
};

template <Randomness Random>
Malformed draw_malformed(Random &random) {
    return static_cast<Malformed>(random.below(5));
}

/// How many top-level fields `record` has. Records are compact JSON objects without escapes.
std::size_t field_count(const std::string &record);

/// `record` without its top-level field `index`.
void remove_field(std::string &record, std::size_t index);

/// `record` with the string "not_a_number" as its top-level "timestamp", added where absent.
void spoil_timestamp(std::string &record);

/// Spoils `record`, which is whole, in the way `kind`, with the draws that the way needs. Returns
/// the number of the missing field, if there is one.
template <Randomness Random>
std::size_t spoil(Random &random, Malformed kind, std::string &record) {
    std::size_t missing = 0;
    switch (kind) {
    case Malformed::truncated:
        record.resize(between(random, 10, record.size() - 1));
        break;
    case Malformed::missing_field:
        missing = random.below(field_count(record));
        remove_field(record, missing);
        break;
    case Malformed::wrong_type:
        spoil_timestamp(record);
        break;
    case Malformed::garbage:
        record.assign(1, '{').append(between(random, 20, 200), 'x');
        break;
    case Malformed::empty:
        record.clear();
        break;
    }
    return missing;
}

} // namespace gristmill::datagen

#endif
