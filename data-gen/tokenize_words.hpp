// The words that the documents of the record set "tokenize" are made of.
#ifndef GRISTMILL_DATAGEN_TOKENIZE_WORDS_HPP
#define GRISTMILL_DATAGEN_TOKENIZE_WORDS_HPP

#include <array>
#include <cstddef>

#include "print.hpp"

namespace gristmill::datagen {

inline constexpr std::size_t common_count = 76; // mean length 3.5
inline constexpr std::size_t term_count = 42;   // technical terms, mean length 8.6
inline constexpr std::size_t stem_count = 20;   // the first of the common ones, before an affix

/// The common words, and behind them the terms: one list, so that choosing one takes no branch.
inline constexpr std::array<PaddedText<16>, common_count + term_count> plain_words{
    "the",          "and",         "of",           "to",         "in",         "that",
    "for",          "it",          "was",          "with",       "he",         "be",
    "on",           "his",         "by",           "not",        "you",        "at",
    "are",          "is",          "this",         "from",       "or",         "had",
    "have",         "but",         "what",         "all",        "we",         "when",
    "your",         "can",         "said",         "there",      "use",        "after",
    "each",         "which",       "she",          "water",      "how",        "first",
    "will",         "these",       "about",        "out",        "many",       "then",
    "them",         "other",       "some",         "her",        "would",      "make",
    "like",         "him",         "into",         "time",       "has",        "world",
    "two",          "more",        "down",         "see",        "their",      "great",
    "could",        "over",        "than",         "been",       "who",        "now",
    "find",         "any",         "new",          "us",         "algorithm",  "asynchronous",
    "backpressure", "bandwidth",   "benchmark",    "bytecode",   "checksum",   "cluster",
    "compiler",     "concurrency", "container",    "database",   "deadlock",   "decoder",
    "dispatcher",   "encoder",     "gateway",      "hashing",    "heuristics", "iterator",
    "kernel",       "latency",     "microservice", "middleware", "monitor",    "namespace",
    "optimizer",    "parallel",    "parser",       "partition",  "pipeline",   "processor",
    "protocol",     "queue",       "registry",     "scheduler",  "semaphore",  "serializer",
    "snapshot",     "throughput",  "tokenizer",    "transaction"};

/// Mean length 3. The first 14 are the suffixes that a tokenizer takes off.
inline constexpr std::array<PaddedText<8>, 20> affixes{
    "ing", "tion", "ness", "ment", "able", "ible", "ful", "less", "ly",  "er",
    "est", "ed",   "es",   "s",    "ize",  "ism",  "ist", "ous",  "ive", "ity"};

/// Mean length 29.
inline constexpr std::array<PaddedText<64>, 9> long_words{
    "antidisestablishmentarianism",
    "floccinaucinihilipilification",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "supercalifragilisticexpialidocious",
    "electroencephalographically",
    "psychoneuroendocrinological",
    "honorificabilitudinitatibus",
    "counterrevolutionaries",
    "deinstitutionalization"};

/// Numbered words "tok00001" to "tok30000".
inline constexpr std::size_t numbered_words = 30000;

} // namespace gristmill::datagen

#endif
