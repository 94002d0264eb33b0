#include "malformed.hpp"

#include <string_view>
#include <vector>

namespace gristmill::datagen {

namespace {

constexpr std::string_view spoilt_timestamp = "\"timestamp\":\"not_a_number\"";

/// The top-level fields of `record`, each from its key to its value.
std::vector<std::string_view> fields_of(std::string_view record) {
    std::vector<std::string_view> fields;
    std::size_t begin = 1;
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < record.size(); ++i) {
        const char c = record[i];
        if (c == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (c == '{' || c == '[')
            ++depth;
        if (depth == 1 && (c == ',' || c == '}')) {
            fields.push_back(record.substr(begin, i - begin));
            begin = i + 1;
        }
        if (c == '}' || c == ']')
            --depth;
    }
    return fields;
}

std::string joined(const std::vector<std::string_view> &fields) {
    std::string record = "{";
    for (const std::string_view field : fields) {
        if (record.size() > 1)
            record += ',';
        record += field;
    }
    return record += '}';
}

} // namespace

std::size_t field_count(const std::string &record) { return fields_of(record).size(); }

void remove_field(std::string &record, std::size_t index) {
    auto fields = fields_of(record);
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(index));
    record = joined(fields);
}

void spoil_timestamp(std::string &record) {
    auto fields = fields_of(record);
    bool found = false;
    for (std::string_view &field : fields) {
        if (!field.starts_with("\"timestamp\":"))
            continue;
        field = spoilt_timestamp;
        found = true;
    }
    if (!found)
        fields.push_back(spoilt_timestamp);
    record = joined(fields);
}

} // namespace gristmill::datagen
