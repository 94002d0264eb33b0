#include "arguments.hpp"

#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string_view>

namespace gristmill::workshop {

const char *const usage =
    R"(usage: plugin_check FILE.so[:SYMBOL] [--config TEXT] [--input FILE] [--delimiter D]
                    [--framing u32le|BYTES] [--seed N] [--step-seconds S] [--json]

Walks the life of a gristmill plugin, each step in a process of its own, and says where it breaks
the plugin ABI. Exit status: 0 it keeps all of it, 2 it does not, or cannot be checked.
)";

namespace {

unsigned hexadecimal(std::string_view digits, const std::string &all) {
    std::size_t used = 0;
    const unsigned long value =
        digits.size() == 2 ? std::strtoul(std::string(digits).c_str(), nullptr, 16) : 0;
    for (const char digit : digits)
        used += std::isxdigit(static_cast<unsigned char>(digit)) != 0;
    if (used != 2)
        throw std::runtime_error("--delimiter " + all + ": \\x takes two hexadecimal digits");
    return static_cast<unsigned>(value);
}

// The escapes \n \t \r \0 \\ \xHH, as in `gristmill map`.
std::string unescaped(const std::string &text) {
    static constexpr std::string_view names = "ntr0\\", bytes{"\n\t\r\0\\", 5};
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            result += text[i];
            continue;
        }
        const char name = ++i < text.size() ? text[i] : ' ';
        if (const std::size_t at = names.find(name); at != std::string_view::npos) {
            result += bytes[at];
        } else if (name == 'x') {
            result += static_cast<char>(hexadecimal(std::string_view(text).substr(i + 1, 2), text));
            i += 2;
        } else {
            throw std::runtime_error("--delimiter " + text +
                                     R"(: there are the escapes \n \t \r \0 \\ \xHH)");
        }
    }
    if (result.empty())
        throw std::runtime_error("--delimiter takes at least one byte");
    return result;
}

std::uint64_t whole_number(const std::string &option, const std::string &text, std::uint64_t most) {
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    const std::uint64_t value = digits ? std::strtoull(text.c_str(), nullptr, 10) : 0;
    if (!digits || text.size() > 19 || value > most)
        throw std::runtime_error(option + " takes a number up to " + std::to_string(most) +
                                 ", not '" + text + "'");
    return value;
}

double seconds(const std::string &text) {
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value > 0) || value > 1e6)
        throw std::runtime_error("--step-seconds takes a number above 0, not '" + text + "'");
    return value;
}

Framing framing(const std::string &text) {
    if (text == "u32le")
        return {GM_FRAMING_U32LE, "", 0};
    const std::uint64_t bytes = whole_number("--framing", text, 1 << 20);
    if (bytes == 0)
        throw std::runtime_error("--framing takes u32le or the bytes of a record, at least 1");
    return {GM_FRAMING_FIXED, "", bytes};
}

// "FILE.so:SYMBOL" as its two parts, unless a file has the whole as its name.
void name_plugin(const std::string &text, Subject &subject) {
    const std::size_t colon = text.rfind(':');
    const bool split = colon != std::string::npos && !std::filesystem::exists(text);
    const std::string file = split ? text.substr(0, colon) : text;
    if (split)
        subject.symbol = text.substr(colon + 1);
    subject.path = std::filesystem::absolute(file).lexically_normal().string();
}

} // namespace

std::optional<Arguments> read_arguments(int count, char **values) {
    Arguments read;
    read.subject.seed = std::random_device()() % 1'000'000;
    for (int i = 1; i < count; ++i) {
        const std::string argument = values[i];
        if (argument == "-h" || argument == "--help")
            return std::nullopt;
        if (argument == "--json") {
            read.json = true;
        } else if (argument.rfind("--", 0) != 0) {
            if (!read.subject.path.empty())
                throw std::runtime_error("one plugin at a time: '" + argument +
                                         "' is one too many");
            name_plugin(argument, read.subject);
        } else if (i + 1 == count) {
            throw std::runtime_error(argument + " is unknown, or lacks its value; see --help");
        } else if (const std::string value = values[++i]; argument == "--config") {
            read.subject.config = value;
        } else if (argument == "--input") {
            read.input = value;
        } else if (argument == "--delimiter") {
            read.subject.framing.delimiter = unescaped(value);
        } else if (argument == "--framing") {
            read.subject.framing = framing(value);
        } else if (argument == "--seed") {
            read.subject.seed = whole_number(argument, value, UINT32_MAX);
        } else if (argument == "--step-seconds") {
            read.subject.step_seconds = seconds(value);
        } else {
            throw std::runtime_error(argument + " is unknown; see --help");
        }
    }
    if (read.subject.path.empty())
        throw std::runtime_error("which plugin? see --help");
    return read;
}

} // namespace gristmill::workshop
