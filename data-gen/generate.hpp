// Generating a record set, into a file or into memory.
//
//     GenerateSpec spec{.set = RecordSet::light, .records = 5'000'000};
//     if (auto error = generate(spec, "light.jsonl")) report(error->what);
//
// A spec determines every byte. Each record is followed by '\n'.
#ifndef GRISTMILL_DATAGEN_GENERATE_HPP
#define GRISTMILL_DATAGEN_GENERATE_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "record_sets.hpp"

namespace gristmill::datagen {

struct GenerateSpec {
    RecordSet set = RecordSet::light;
    Stream stream = Stream::reference;
    std::uint64_t records = 0;
    std::optional<std::uint64_t> seed = {}; ///< default_seed(set) if none
    double malformed_pct = 0;               ///< share of spoilt records, 0 to 100
};

struct GenerateError {
    std::string what;     ///< one sentence, naming the file if it is about one
    int error_number = 0; ///< errno; ECANCELED when the progress callback said stop; 0 if none
};

/// Told now and then how far it is; returns false to stop.
using Progress = std::function<bool(std::uint64_t records, std::uint64_t bytes)>;

/// Writes the records to the file `path`. The file appears, or replaces one that was there, only
/// when it is complete: after an error or a stop everything is as before. What exists and is no
/// regular file (a pipe, a device) is written to in place.
std::optional<GenerateError> generate(const GenerateSpec &spec, const std::string &path,
                                      const Progress &progress = {}) noexcept;

/// Appends the records to `to`. After an error `to` may hold some of them.
std::optional<GenerateError> append_records(const GenerateSpec &spec, std::string &to) noexcept;

} // namespace gristmill::datagen

#endif
