#include "records.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "words.hpp"

namespace gristmill::workshop {

namespace {

constexpr std::uint64_t file_records_max = 5000;
constexpr std::uint64_t file_bytes_max = 8 << 20;
constexpr int sample_rounds = 24;

using Random = std::mt19937_64;

// The same on every machine, which the distributions of <random> are not.
std::uint64_t below(Random &random, std::uint64_t limit) { return random() % limit; }

std::string random_text(Random &random, std::uint64_t length) {
    static constexpr std::string_view letters = "etaoin shrdlu, ETAOIN.SHRDLU 0123456789";
    std::string text;
    for (std::uint64_t i = 0; i < length; ++i)
        text += letters[below(random, letters.size())];
    return text;
}

std::string random_json(Random &random) {
    return R"({"id": )" + std::to_string(random() >> 12) + R"(, "name": ")" +
           random_text(random, below(random, 30)) + R"(", "score": )" +
           std::to_string(below(random, 10000)) + ".5" + R"(, "tags": ["a", null, true]})";
}

} // namespace

void RecordSet::add_framed(std::string_view record) {
    data += record;
    starts.push_back(data.size());
}

std::string RecordRange::described() const {
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    const std::string bytes =
        words(" (bytes %llu to %llu)", number(set->starts[first]), number(set->starts[last]));
    if (count() == 1)
        return words("record %llu of the %s", number(first), set->name.c_str()) + bytes;
    return words("records %llu to %llu of the %s", number(first), number(last - 1),
                 set->name.c_str()) +
           bytes;
}

RecordSet sample_records(const Framing &framing, std::uint64_t seed) {
    RecordSet set("sample records", framing);
    Random random(seed);
    for (int round = 0; round < sample_rounds; ++round) {
        set.add("the quick brown fox");
        set.add("");
        set.add(std::to_string(random()));
        set.add(random_json(random));
        set.add(random_text(random, below(random, 70)));
        set.add("-12.5e3\tfalse,\"a \"\"quoted\"\" field\";7");
        set.add("x");
        set.add("!#{[\"unfinished");
        set.add("gr\u00fc\u00dfe, \u65e5\u672c\u8a9e, \U0001f600");
        set.add(random_text(random, below(random, round == 7 ? 20'000 : 700)));
        set.add(" \t \r");
        set.add(random_json(random));
    }
    return set;
}

RecordSet records_of_file(const std::string &path, const Framing &framing) {
    std::ifstream file(path, std::ios::binary);
    std::string data;
    if (file) {
        data.resize(file_bytes_max);
        file.read(data.data(), static_cast<std::streamsize>(data.size()));
        data.resize(static_cast<std::size_t>(file.gcount()));
    }
    if (!file && !file.eof())
        throw std::runtime_error("'" + path + "' cannot be read: " + std::strerror(errno));
    const bool all = data.size() < file_bytes_max;
    RecordSet set("records of the file", framing);
    std::string_view rest = data;
    while (!rest.empty() && set.count() < file_records_max) {
        const std::uint64_t bytes = framing.first_record_bytes(rest);
        if (bytes == 0)
            break;
        set.add_framed(rest.substr(0, bytes));
        rest.remove_prefix(bytes);
    }
    if (all && !rest.empty() && set.count() < file_records_max) {
        if (framing.kind != GM_FRAMING_DELIMITER)
            throw std::runtime_error("'" + path + "' is not made of " + framing.described() +
                                     ": the last one is incomplete");
        set.add_framed(std::string(rest) + framing.delimiter);
    }
    if (set.count() == 0)
        throw std::runtime_error("'" + path + "' has no record among its first " +
                                 counted(file_bytes_max, "byte"));
    return set;
}

Cuts cut_evenly(const RecordSet &set, std::uint64_t records) {
    Cuts cuts;
    for (std::uint64_t at = 0; at < set.count(); at += records)
        cuts.push_back({&set, at, std::min(at + records, set.count()), cuts.size()});
    return cuts;
}

Cuts cut_at_random(const RecordSet &set, std::uint64_t records_max, std::uint64_t seed) {
    Random random(seed);
    Cuts cuts;
    for (std::uint64_t at = 0; at < set.count();) {
        const std::uint64_t records = 1 + below(random, records_max);
        cuts.push_back({&set, at, std::min(at + records, set.count()), cuts.size()});
        at = cuts.back().last;
    }
    return cuts;
}

} // namespace gristmill::workshop
