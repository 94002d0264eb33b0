// Making sentences for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gristmill::workshop {

/// What printf would print.
__attribute__((format(printf, 1, 2))) std::string words(const char *format, ...);

/// "1 record", "2 records", "1,000 records".
std::string counted(std::uint64_t number, const char *noun);

/// Bytes as a C string literal would write them, in quotes; cut off behind `most` bytes.
std::string quoted(std::string_view bytes, std::size_t most = 40);

} // namespace gristmill::workshop
