// The payload of the record set "heavy": the features of "medium", and those of the words in a
// review and in a search query.
//
//     {"event_id":"evt_1f", ... ,"review_text":"Good dogs, shipping fast","search_query":"dog"}
//     {"eid":"evt_1f", ... ,"rv_wc":4,"rv_uw":4,"rv_fh":1709731588,"rv_ld":1.0,"sq_wc":1, ...}
//
// Every record gives exactly one output record, by the rules of "medium". The configuration
// "strict" keeps every record from the fast path.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <gristmill/plugin.hpp>

#include "event_record.hpp"
#include "record_walk.hpp"
#include "word_stems.hpp"

namespace {

using namespace gristmill;

class Heavy {
  public:
    explicit Heavy(std::string_view config) : strict_only_(is_strict(config, "heavy")) {}

    void process(const plugin::Batch &batch, plugin::Output &output) {
        walk_records(*this, strict_only_, batch, output);
    }

    [[gnu::flatten]] bool scan(std::string_view record) noexcept {
        json::PlainScan at(record);
        return scan_event(at, event_) && at.literal<",\"review_text\":\"">() &&
               at.long_text(review_) && at.literal<"\",\"search_query\":\"">() &&
               at.long_text(query_) && at.literal<"\"}">() && at.at_end();
    }

    const char *read(std::string_view record) {
        simdjson::dom::object object;
        if (const char *reason = parser_.parse(record, object))
            return reason;
        const json::Fields fields(names, object);
        std::string_view review, query;
        if (!fields.get_optional(review_text, review))
            return "review_text is not a string";
        if (!fields.get_optional(search_query, query))
            return "search_query is not a string";
        keep(review, query);
        return reader_.read(fields, event_);
    }

    void finish(plugin::Output &output) {
        const EventFeatures features(event_);
        if (!features.wanted())
            return output.filter(plugin::Leave::blank);
        constexpr std::size_t words_bytes_max = 160;
        char *out = features.print(output.start(features.bytes_max() + words_bytes_max));
        out = print_words(out, stems_.features_of(review_), stems_.features_of(query_));
        output.emit_until(out);
    }

  private:
    enum Name { review_text = EventReader::top_count, search_query, name_count };

    static constexpr auto names = [] {
        std::array<std::string_view, name_count> all{};
        std::copy(EventReader::top_names.begin(), EventReader::top_names.end(), all.begin());
        all[review_text] = "review_text";
        all[search_query] = "search_query";
        return all;
    }();

    /// Copies the texts to where readable bytes follow them.
    void keep(std::string_view review, std::string_view query) {
        texts_.assign(review).append(query).append(text::block_bytes, ' ');
        review_ = std::string_view(texts_).substr(0, review.size());
        query_ = std::string_view(texts_).substr(review.size(), query.size());
    }

    static char *print_words(char *out, const WordFeatures &review, const WordFeatures &query) {
        using namespace json;
        const double density =
            review.words == 0 ? 0.0 : static_cast<double>(review.distinct) / review.words;
        out = print_integer(print_literal(out, ",\"rv_wc\":"), review.words);
        out = print_integer(print_literal(out, ",\"rv_uw\":"), review.distinct);
        out = print_integer(print_literal(out, ",\"rv_fh\":"), review.fold);
        out = print_rounded_to_4(print_literal(out, ",\"rv_ld\":"), density);
        out = print_integer(print_literal(out, ",\"sq_wc\":"), query.words);
        out = print_integer(print_literal(out, ",\"sq_fh\":"), query.fold);
        return print_literal(out, "}");
    }

    const bool strict_only_;
    json::StrictParser parser_;
    EventReader reader_;
    WordStems stems_;
    std::string texts_; // of a record that was read strictly

    Event event_; // the record in hand
    std::string_view review_;
    std::string_view query_;
};

} // namespace

GRISTMILL_PLUGIN(Heavy, "heavy", 0);
