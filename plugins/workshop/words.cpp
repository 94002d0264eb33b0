#include "words.hpp"

#include <cstdarg>
#include <cstdio>

namespace gristmill::workshop {

std::string words(const char *format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    char buffer[1024];
    const int length = std::vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    const auto written = static_cast<std::size_t>(length < 0 ? 0 : length);
    return {buffer, written < sizeof buffer ? written : sizeof buffer - 1};
}

std::string counted(std::uint64_t number, const char *noun) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3; at -= 3)
        digits.insert(at - 3, ",");
    return digits + ' ' + noun + (number == 1 ? "" : "s");
}

std::string quoted(std::string_view bytes, std::size_t most) {
    std::string text = "\"";
    for (const char byte : bytes.substr(0, most)) {
        const auto code = static_cast<unsigned char>(byte);
        if (byte == '\n') {
            text += "\\n";
        } else if (byte == '\t') {
            text += "\\t";
        } else if (byte == '\r') {
            text += "\\r";
        } else if (byte == '"' || byte == '\\') {
            text += {'\\', byte};
        } else if (code < 0x20 || code >= 0x7f) {
            text += words("\\x%02x", code);
        } else {
            text += byte;
        }
    }
    return text + (bytes.size() > most ? "...\"" : "\"");
}

} // namespace gristmill::workshop
