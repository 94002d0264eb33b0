// Reading the vocabulary of a tokenizer: a file of lines "id TAB word".
#ifndef GRISTMILL_PLUGINS_VOCABULARY_HPP
#define GRISTMILL_PLUGINS_VOCABULARY_HPP

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace gristmill {

/// Ids are 1 to 2^31-1, words are not empty and hold no whitespace; none stands there twice.
struct VocabularyWord {
    std::uint32_t id;
    std::string text;
};

namespace detail {

[[noreturn]] inline void refuse_vocabulary(const std::string &path, const std::string &why) {
    throw std::runtime_error("vocabulary '" + path + "': " + why);
}

inline std::string read_vocabulary_file(const std::string &path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "rb"),
                                                                std::fclose);
    if (!file)
        refuse_vocabulary(path, std::strerror(errno));
    std::string bytes;
    std::array<char, 65536> part;
    while (const std::size_t size = std::fread(part.data(), 1, part.size(), file.get()))
        bytes.append(part.data(), size);
    if (std::ferror(file.get()))
        refuse_vocabulary(path, std::strerror(errno));
    return bytes;
}

/// Null when `word` has been read, else what is wrong with the line.
inline const char *read_vocabulary_line(std::string_view line, VocabularyWord &word) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos)
        return "not of the form id TAB word";
    const char *const id_end = line.data() + tab;
    const auto [end, error] = std::from_chars(line.data(), id_end, word.id);
    if (error != std::errc() || end != id_end || word.id < 1 || word.id > INT32_MAX)
        return "the id is not a number from 1 to 2147483647";
    word.text = line.substr(tab + 1);
    if (word.text.empty() || word.text.find_first_of(" \t\n\r\v\f") != std::string::npos)
        return "the word is empty or holds whitespace";
    return nullptr;
}

} // namespace detail

/// The words of the file, in its order. Throws std::runtime_error, which says what is wrong with
/// the file, or std::bad_alloc.
inline std::vector<VocabularyWord> read_vocabulary(const std::string &path) {
    const std::string file = detail::read_vocabulary_file(path);
    std::vector<VocabularyWord> words;
    std::unordered_set<std::string> texts;
    std::unordered_set<std::uint32_t> ids;
    for (std::string_view rest = file; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        VocabularyWord word;
        const char *fault = detail::read_vocabulary_line(line, word);
        if (fault == nullptr && !texts.insert(word.text).second)
            fault = "the word stands there twice";
        if (fault == nullptr && !ids.insert(word.id).second)
            fault = "the id stands there twice";
        if (fault != nullptr)
            detail::refuse_vocabulary(path,
                                      "line " + std::to_string(words.size() + 1) + ": " + fault);
        words.push_back(std::move(word));
    }
    if (words.empty())
        detail::refuse_vocabulary(path, "no entries");
    return words;
}

} // namespace gristmill

#endif
