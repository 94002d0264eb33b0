// The records that a plugin is tried with, and how they are cut into batches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framing.hpp"

namespace gristmill::workshop {

/// Records as they would lie in a file.
struct RecordSet {
    std::string name; // in the plural, for messages: "sample records"
    Framing framing;
    std::string data;
    std::vector<std::uint64_t> starts{0}; // of each record in `data`; the last one = its size
    std::uint32_t end_flags = 0;          // gm_batch.flags of a batch that has the last record

    RecordSet(std::string name_, Framing framing_)
        : name(std::move(name_)), framing(std::move(framing_)) {}

    void add(std::string_view content) { add_framed(framing.framed(content)); }
    void add_framed(std::string_view record);
    std::uint64_t count() const { return starts.size() - 1; }
};

/// A batch: records [first, last) of a set.
struct RecordRange {
    const RecordSet *set;
    std::uint64_t first;
    std::uint64_t last;
    std::uint64_t sequence = 0;

    std::uint64_t count() const { return last - first; }
    std::string_view data() const {
        return std::string_view(set->data).substr(set->starts[first],
                                                  set->starts[last] - set->starts[first]);
    }
    /// "sample records 3 to 7 (bytes 120 to 354)".
    std::string described() const;
};

using Cuts = std::vector<RecordRange>;

/// Text, numbers, JSON, UTF-8, nothing at all, long and short: the same records for each seed.
RecordSet sample_records(const Framing &framing, std::uint64_t seed);

/// The first records of a file, as many as can be tried in reasonable time.
/// Throws std::runtime_error, which says what is wrong with the file.
RecordSet records_of_file(const std::string &path, const Framing &framing);

/// All records in batches of `records`.
Cuts cut_evenly(const RecordSet &set, std::uint64_t records);
/// All records in batches of 1 to `records_max`, other ones for each seed.
Cuts cut_at_random(const RecordSet &set, std::uint64_t records_max, std::uint64_t seed);

} // namespace gristmill::workshop
