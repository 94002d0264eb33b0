// The vocabulary of the record set "tokenize".
#ifndef GRISTMILL_DATAGEN_DOCUMENT_VOCABULARY_HPP
#define GRISTMILL_DATAGEN_DOCUMENT_VOCABULARY_HPP

#include <string>
#include <string_view>
#include <vector>

namespace gristmill::datagen {

/// Its 29,999 words; word i has the id i + 1. The id 0 stands for any other word.
std::vector<std::string> vocabulary();

/// The same as the text of a vocabulary file: lines of id, tab, word.
std::string vocabulary_text();

/// Where the vocabulary of a corpus lies: beside it, as "<corpus>.vocab".
std::string vocabulary_path(std::string_view corpus);

} // namespace gristmill::datagen

#endif
