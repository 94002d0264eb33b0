#include "manifest.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>

#include <simdjson.h>

#include "guarded.hpp"
#include "os/os_error.hpp"

namespace gristmill::datagen {

namespace {

/// Counts up whenever the same spec comes to mean other bytes, or the fields change.
constexpr std::uint64_t format = 1;

class JsonLines {
  public:
    void add(std::string_view key, std::string_view value) {
        text_.append(text_.empty() ? "{\n" : ",\n");
        text_.append("  \"").append(key).append("\": ").append(value);
    }
    void add_text(std::string_view key, std::string_view value) {
        add(key, '"' + std::string(value) + '"');
    }
    void add_number(std::string_view key, std::uint64_t value) { add(key, std::to_string(value)); }
    void add_number(std::string_view key, double value) {
        std::array<char, 32> digits;
        const char *end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        add(key, {digits.data(), static_cast<std::size_t>(end - digits.data())});
    }
    std::string finish() { return text_ + "\n}\n"; }

  private:
    std::string text_;
};

/// Reads fields one by one; a field that is missing or of another type makes it bad.
class JsonFields {
  public:
    explicit JsonFields(std::string_view text) {
        const simdjson::padded_string padded(text);
        good_ = parser_.parse(padded).get(object_) == simdjson::SUCCESS;
    }

    template <class Value>
    void get(const char *key, Value &value) {
        good_ = good_ && object_[key].get(value) == simdjson::SUCCESS;
    }
    void get_text(const char *key, std::string &value) {
        std::string_view text;
        get(key, text);
        value = text;
    }
    template <class Named>
    void get_named(const char *key, std::optional<Named> (*named)(std::string_view) noexcept,
                   Named &value) {
        std::string_view name;
        get(key, name);
        const std::optional<Named> found = named(name);
        good_ = good_ && found;
        value = found.value_or(value);
    }
    void get_range(const char *key, Range &range) {
        simdjson::dom::array ends;
        get(key, ends);
        good_ = good_ && ends.size() == 2 && ends.at(0).get(range.begin) == simdjson::SUCCESS &&
                ends.at(1).get(range.end) == simdjson::SUCCESS;
    }

    bool good() const noexcept { return good_; }

  private:
    simdjson::dom::parser parser_;
    simdjson::dom::element object_;
    bool good_ = false;
};

/// Empty when `manifest` has been read, else what is wrong with the text.
std::string parse(std::string_view text, Manifest &manifest) {
    JsonFields fields(text);
    std::uint64_t found_format = 0;
    fields.get("format", found_format);
    if (fields.good() && found_format != format)
        return "is a manifest of format " + std::to_string(found_format) +
               "; this version knows format " + std::to_string(format) + " alone";
    fields.get_named("set", record_set_of, manifest.set);
    fields.get_named("stream", stream_of, manifest.stream);
    fields.get("seed", manifest.seed);
    fields.get("malformed_pct", manifest.malformed_pct);
    fields.get("large_documents", manifest.large_documents);
    fields.get_range("range", manifest.range);
    fields.get("records", manifest.records);
    fields.get("valid", manifest.valid);
    fields.get("bytes", manifest.bytes);
    fields.get_text("xxh3_128", manifest.xxh3_128);
    fields.get_named("compression", compression_of, manifest.compression);
    fields.get("file_bytes", manifest.file_bytes);
    return fields.good() ? "" : "is no manifest: a field is missing, or of another type";
}

} // namespace

std::string manifest_path(const std::string &file) { return file + ".manifest.json"; }

Manifest manifest_of(const GenerateSpec &spec) {
    const Range range = spec.range.value_or(Range{0, spec.records});
    return {.set = spec.set,
            .stream = spec.stream,
            .seed = spec.seed.value_or(default_seed(spec.set)),
            .malformed_pct = spec.malformed_pct,
            .large_documents = spec.large_documents,
            .range = range,
            .records = range.end - range.begin,
            .compression = spec.compression};
}

bool describes(const Manifest &manifest, const GenerateSpec &spec) {
    Manifest wanted = manifest_of(spec);
    wanted.valid = manifest.valid;
    wanted.bytes = manifest.bytes;
    wanted.xxh3_128 = manifest.xxh3_128;
    wanted.file_bytes = manifest.file_bytes;
    return manifest == wanted;
}

std::string manifest_text(const Manifest &manifest) {
    JsonLines lines;
    lines.add_number("format", format);
    lines.add_text("set", name_of(manifest.set));
    lines.add_text("stream", name_of(manifest.stream));
    lines.add_number("seed", manifest.seed);
    lines.add_number("malformed_pct", manifest.malformed_pct);
    lines.add("large_documents", manifest.large_documents ? "true" : "false");
    lines.add("range", '[' + std::to_string(manifest.range.begin) + ", " +
                           std::to_string(manifest.range.end) + ']');
    lines.add_number("records", manifest.records);
    lines.add_number("valid", manifest.valid);
    lines.add_number("bytes", manifest.bytes);
    lines.add_text("xxh3_128", manifest.xxh3_128);
    lines.add_text("compression", name_of(manifest.compression));
    lines.add_number("file_bytes", manifest.file_bytes);
    return lines.finish();
}

std::optional<GenerateError> read_manifest(const std::string &file, Manifest &manifest) noexcept {
    return guarded([&]() -> std::optional<GenerateError> {
        const std::string path = manifest_path(file);
        const std::string what = "cannot read '" + path + "'";
        errno = 0;
        std::ifstream stream(path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(stream), {}};
        const int number = errno;
        if (!stream.is_open() || stream.bad())
            return GenerateError{os::errno_error(ErrorKind::source, number, what).message, number,
                                 path};
        if (const std::string wrong = parse(text, manifest); !wrong.empty())
            return GenerateError{"'" + path + "' " + wrong, 0};
        return std::nullopt;
    });
}

} // namespace gristmill::datagen
