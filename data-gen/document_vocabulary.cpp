#include "document_vocabulary.hpp"

#include <array>

#include "print.hpp"
#include "tokenize_words.hpp"

namespace gristmill::datagen {

namespace {

constexpr std::size_t vocabulary_size = 29999;

std::string numbered_word(std::size_t number) {
    std::array<char, 8 + print_slack> text;
    return {text.data(), print_padded(print(text.data(), "tok"), number, 5)};
}

} // namespace

std::vector<std::string> vocabulary() {
    std::vector<std::string> words;
    words.reserve(vocabulary_size);
    const auto add = [&words](const auto &list) {
        for (const auto &word : list)
            words.emplace_back(word.view());
    };
    add(plain_words);
    add(affixes);
    add(long_words);
    while (words.size() < vocabulary_size)
        words.push_back(numbered_word(words.size() + 1)); // so that its number is its id
    return words;
}

std::string vocabulary_text() {
    std::string text;
    std::size_t id = 0;
    for (const std::string &word : vocabulary())
        text.append(std::to_string(++id)).append(1, '\t').append(word).append(1, '\n');
    return text;
}

std::string vocabulary_path(std::string_view corpus) { return std::string(corpus) + ".vocab"; }

} // namespace gristmill::datagen
