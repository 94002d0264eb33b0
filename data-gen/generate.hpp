// Generating a record set, into a file or into memory.
//
//     GenerateSpec spec{.set = RecordSet::light, .records = 5'000'000};
//     if (auto error = generate(spec, "light.jsonl")) report(error->what);
//
// A spec determines every byte, whatever its `threads`. Each record is followed by '\n'.
//
//   generate         into a file, with a manifest beside it
//   generate_chunks  handed to a function, chunk by chunk
//   append_records   into a string
// and beside this header
//   manifest.hpp             read_manifest, verify, describes: what a file holds, and still does
//   document_vocabulary.hpp  vocabulary: the words that the records of "tokenize" are read with
#ifndef GRISTMILL_DATAGEN_GENERATE_HPP
#define GRISTMILL_DATAGEN_GENERATE_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "record_sets.hpp"

namespace gristmill::datagen {

/// The records from `begin` up to, not including, `end`.
struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool operator==(const Range &) const = default;
};

struct GenerateSpec {
    RecordSet set = RecordSet::light;
    Stream stream = Stream::reference;
    std::uint64_t records = 0;
    std::optional<std::uint64_t> seed = {};      ///< default_seed(set) if none
    double malformed_pct = 0;                    ///< share of spoilt records, 0 to 100
    std::optional<Range> range = {};             ///< these alone of the `records`; fast stream only
    std::uint32_t threads = 0;                   ///< 0: one for each CPU this process may use
    Compression compression = Compression::none; ///< of the file that generate() writes
    bool large_documents = false;                ///< tokenize only: of 500 to 800 words
};

struct GenerateError {
    std::string what;     ///< one sentence, naming the file if it is about one
    int error_number = 0; ///< errno; ECANCELED when the progress callback said stop; 0 if none
    std::string path = {}; ///< the file that cannot be read; empty: the one that was asked for
};

/// Told now and then, on the calling thread, how far it is; returns false to stop. Bytes are those
/// of the records, before compression.
using Progress = std::function<bool(std::uint64_t records, std::uint64_t bytes)>;

/// Writes the records to the file `path`. The file appears, or replaces one that was there, only
/// when it is complete: after an error or a stop everything is as before. What exists and is no
/// regular file (a pipe, a device) is written to in place.
///
/// Beside a regular file come its manifest and, for tokenize, its vocabulary. While there is a
/// manifest, it is that of the file.
std::optional<GenerateError> generate(const GenerateSpec &spec, const std::string &path,
                                      const Progress &progress = {}) noexcept;

/// Some whole records, one after the other.
struct Chunk {
    std::string_view bytes;
    std::uint64_t records = 0;
    std::uint64_t valid = 0; ///< how many of them the set's payload has a result for
};

/// Takes a chunk, which lasts until it returns; returns false to stop.
using Sink = std::function<bool(const Chunk &chunk)>;

/// Hands the records to `sink` in order, on the calling thread, while other threads make more.
/// Where chunks end depends on the set alone.
std::optional<GenerateError> generate_chunks(const GenerateSpec &spec, const Sink &sink) noexcept;

/// Appends the records to `to`. After an error `to` may hold some of them.
std::optional<GenerateError> append_records(const GenerateSpec &spec, std::string &to) noexcept;

} // namespace gristmill::datagen

#endif
