#include "output/dead_letters.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include "os/fd_io.hpp"
#include "os/os_error.hpp"
#include "os/output_file.hpp"

namespace gristmill::output {

namespace {

constexpr std::string_view kReplacement = "\\ufffd";

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byte(0);
    if (lead < 0x80)
        return 1;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length)
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
    const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
    const bool beyond = lead == 0xf4 && byte(1) >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
}

void append_json_string(std::string &line, std::string_view text) {
    line += '"';
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const auto byte = static_cast<std::uint8_t>(text[0]);
        if (length == 0) {
            line += kReplacement;
        } else if (byte == '"' || byte == '\\') {
            line += '\\';
            line += text[0];
        } else if (byte < 0x20) {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(), escape.size(), "\\u%04x", byte);
            line += escape.data();
        } else {
            line += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    line += '"';
}

void append_base64(std::string &line, ByteView bytes) {
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k)
            group = group << 8 | (k < have ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
        for (std::size_t k = 0; k < 4; ++k)
            line += k <= have ? digits[(group >> (18 - 6 * k)) & 63] : '=';
    }
}

} // namespace

Result<DeadLetters> DeadLetters::create(const std::string &path) {
    Result<os::UniqueFd> fd = os::create_private_file(path);
    if (!fd)
        return fd.error();
    return DeadLetters(std::move(*fd), path);
}

Result<void> DeadLetters::add(const RecordFailure &failure, ByteView record) {
    line_ = "{\"source\":";
    append_json_string(line_, failure.source);
    line_ += ",\"offset\":" + std::to_string(failure.byte_offset) + ",\"index\":";
    line_ += failure.index_known ? std::to_string(failure.record_index) : "null";
    line_ += ",\"error\":";
    append_json_string(line_, failure.reason);
    line_ += ",\"type\":";
    append_json_string(line_, failure.type);
    line_ += ",\"record_b64\":\"";
    append_base64(line_, record);
    line_ += "\"}\n";
    if (const int os_errno = os::write_full(fd_.get(), bytes_of(line_)))
        return os::errno_error(ErrorKind::output, os_errno,
                               "cannot write dead letters to '" + path_ + "'", path_);
    return {};
}

} // namespace gristmill::output
