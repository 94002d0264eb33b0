// The payload of the record set "tokenize": turns the text of a document into the ids of its words.
//
//     {"doc_id":7,"text":"reading the books ...","source":"web","lang":"en","timestamp":1700000060}
//     {"doc_id":7,"tokens":[412,77,1, ...],"n_tokens":282,"n_unique":104,"diversity":0.3688}
//
// A word that the vocabulary does not have gives the id of its stem and that of its suffix, or 0.
// Every record gives exactly one output record. It is blank if the record is blank, has too few,
// too many or too equal tokens (filtered), or malformed (failed). The configuration is the path of
// the vocabulary; "strict:" before it keeps every record from the fast path.
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gristmill/plugin.hpp>

#include "file_stock.hpp"
#include "json_format.hpp"
#include "json_scan.hpp"
#include "json_strict.hpp"
#include "record_walk.hpp"
#include "text_blocks.hpp"
#include "token_table.hpp"
#include "vocabulary.hpp"

namespace {

using namespace gristmill;

constexpr std::size_t tokens_min = 20;
constexpr std::size_t tokens_max = 1000;
constexpr double diversity_min = 0.1;

/// Takes texts apart into tokens. What it has learned of one text changes nothing in what it says of others.
class Tokenizer {
  public:
    explicit Tokenizer(const std::string &path) : table_(read_vocabulary(path)) {}

    /// Finds the tokens of `text`, which text::block_bytes readable bytes follow: all, or more than
    /// tokens_max of them.
    void split(std::string_view text) {
        std::size_t words = 0;
        text::for_each_run(text, is_of_word, [&](std::string_view word) {
            words_[words++] = table_.prepare(word);
            return words < words_.size();
        });
        TokenTable::Token *end = tokens_.data();
        for (std::size_t i = 0; i < words; ++i)
            end = table_.tokens_of(words_[i], end);
        size_ = static_cast<std::size_t>(end - tokens_.data());
        distinct_ = 0;
        table_.begin_text();
        for (std::size_t i = 0; i < size_; ++i)
            distinct_ += table_.is_first(tokens_[i]);
    }

    std::size_t size() const noexcept { return size_; }
    std::size_t distinct() const noexcept { return distinct_; }

    /// Room that print() needs.
    std::size_t bytes_max() const noexcept {
        return size_ * TokenTable::id_bytes_max + TokenTable::id_slack;
    }

    /// Prints the ids of the tokens, each with a comma behind it.
    char *print(char *out) const noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            out = table_.print_id(out, tokens_[i]);
        return out;
    }

  private:
    static constexpr auto is_of_word = [](text::Bytes bytes) {
        return ~((bytes == ' ') | ((bytes >= '\t') & (bytes <= '\r')));
    };

    TokenTable table_;
    std::array<TokenTable::Lookup, tokens_max + 1> words_;
    std::array<TokenTable::Token, 2 * (tokens_max + 1)> tokens_; // two for a word at most
    std::size_t size_ = 0;
    std::size_t distinct_ = 0;
};

FileStock<Tokenizer> idle_tokenizers; // reading a vocabulary takes as long as some hundred documents

class Tokenize {
  public:
    explicit Tokenize(std::string_view config)
        : strict_only_(config.starts_with(strict_prefix)), tokenizer_(idle_tokenizers, path_in(config)) {}

    void process(const plugin::Batch &batch, plugin::Output &output) {
        walk_records(*this, strict_only_, batch, output);
    }

    [[gnu::flatten]] bool scan(std::string_view record) noexcept {
        json::PlainScan at(record);
        std::string_view unread;
        return at.literal<"{\"doc_id\":">() && at.integer(id_) && at.literal<",\"text\":\"">() &&
               at.long_text(text_) && at.literal<"\",\"source\":\"">() && at.text(unread) &&
               at.literal<"\",\"lang\":\"">() && at.text(unread) &&
               at.literal<"\",\"timestamp\":">() && at.integer(unread) && at.literal<"}">() &&
               at.at_end();
    }

    const char *read(std::string_view record) {
        simdjson::dom::object object;
        if (const char *reason = parser_.parse(record, object))
            return reason;
        const json::Fields fields(names, object);
        json::Number id(std::int64_t{0});
        std::string_view text;
        if (!fields.get(doc_id, id) || !id.is_integer())
            return "doc_id is not an integer";
        if (!fields.get(text_field, text))
            return "text is not a string";
        keep(id, text);
        return nullptr;
    }

    void finish(plugin::Output &output) {
        using namespace json;
        constexpr std::size_t rest_bytes_max = 150;
        tokenizer_->split(text_);
        const std::size_t tokens = tokenizer_->size(), distinct = tokenizer_->distinct();
        const double diversity = static_cast<double>(distinct) / static_cast<double>(tokens);
        if (tokens < tokens_min || tokens > tokens_max || diversity < diversity_min)
            return output.filter(plugin::Leave::blank);
        char *out = output.start(tokenizer_->bytes_max() + rest_bytes_max + copy_slack);
        out = print_text(print_literal(out, "{\"doc_id\":"), id_);
        out = tokenizer_->print(print_literal(out, ",\"tokens\":[")) - 1; // over the last comma
        out = print_integer(print_literal(out, "],\"n_tokens\":"), tokens);
        out = print_integer(print_literal(out, ",\"n_unique\":"), distinct);
        out = print_rounded_to_4(print_literal(out, ",\"diversity\":"), diversity);
        output.emit_until(print_literal(out, "}"));
    }

  private:
    enum Name { doc_id, text_field };
    static constexpr std::array<std::string_view, 2> names{"doc_id", "text"};
    static constexpr std::string_view strict_prefix = "strict:";

    static std::string path_in(std::string_view config) {
        if (config.starts_with(strict_prefix))
            config.remove_prefix(strict_prefix.size());
        if (config.empty())
            throw std::invalid_argument("tokenize: the configuration is the path of a vocabulary");
        return std::string(config);
    }

    /// Copies both to where readable bytes follow them.
    void keep(json::Number id, std::string_view text) {
        id_ = {id_text_.data(), id.print(id_text_.data())};
        kept_.assign(text).append(text::block_bytes, ' ');
        text_ = std::string_view(kept_).substr(0, text.size());
    }

    const bool strict_only_;
    json::StrictParser parser_;
    const FileStock<Tokenizer>::Loan tokenizer_;
    std::array<char, json::number_bytes_max + json::copy_slack> id_text_;
    std::string kept_; // the text of a record that was read strictly

    std::string_view id_; // of the record in hand, as it is printed
    std::string_view text_;
};

} // namespace

GRISTMILL_PLUGIN(Tokenize, "tokenize", 0);
