// What the engine's output has to be, computed without any code of the engine.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gristmill::e2e {

// The records of one source: left to right, byte by byte; an empty run between two delimiters is
// a record, a delimiter at the very end adds none.
std::vector<std::string> split(std::string_view data, std::string_view delimiter = "\n");

// The bytes that a payload which maps each record to one record leaves for these sources in
// order: a delimiter behind each record, except the last when its source lacks it and the record
// became something.
std::string mapped(const std::vector<std::string> &sources, std::string_view delimiter,
                   const std::function<std::string(const std::string &)> &payload);

// The ASCII letters a-z as capitals.
std::string upper(const std::string &record);

// Each record behind its length, 32 bits, little-endian.
std::string framed(const std::vector<std::string> &records);
std::string header(std::uint32_t bytes);

} // namespace gristmill::e2e
