#include "support/oracle.hpp"

#include <cstdint>
#include <stdexcept>

namespace gristmill::e2e {

std::vector<std::string> split(std::string_view data, std::string_view delimiter) {
    if (delimiter.empty())
        throw std::invalid_argument("a delimiter has at least one byte");
    std::vector<std::string> records;
    std::size_t begin = 0;
    for (std::size_t at = data.find(delimiter); at != std::string_view::npos;
         at = data.find(delimiter, begin)) {
        records.emplace_back(data.substr(begin, at - begin));
        begin = at + delimiter.size();
    }
    if (begin < data.size())
        records.emplace_back(data.substr(begin));
    return records;
}

std::string mapped(const std::vector<std::string> &sources, std::string_view delimiter,
                   const std::function<std::string(const std::string &)> &payload) {
    std::string output;
    bool take_off = false;
    for (const std::string &source : sources) {
        std::size_t bytes = 0; // of the source, as far as its records and delimiters account for
        for (const std::string &record : split(source, delimiter)) {
            const std::string result = payload(record);
            output += result;
            output += delimiter;
            bytes += record.size() + delimiter.size();
            take_off = bytes > source.size() && !result.empty();
        }
    }
    if (take_off)
        output.resize(output.size() - delimiter.size());
    return output;
}

std::string upper(const std::string &record) {
    std::string result = record;
    for (char &letter : result)
        if (letter >= 'a' && letter <= 'z')
            letter = static_cast<char>(letter - 'a' + 'A');
    return result;
}

std::string header(std::uint32_t bytes) {
    std::string text;
    for (int shift = 0; shift < 32; shift += 8)
        text += static_cast<char>(bytes >> shift & 0xff);
    return text;
}

std::string framed(const std::vector<std::string> &records) {
    std::string bytes;
    for (const std::string &record : records)
        bytes += header(static_cast<std::uint32_t>(record.size())) + record;
    return bytes;
}

} // namespace gristmill::e2e
