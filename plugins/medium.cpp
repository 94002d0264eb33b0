// The payload of the record set "medium": turns a nested event into a flat row of features.
//
//     {"event_id":"evt_1f","user_id":"user_7", ... ,"user_context":{...},"item_context":{...}, ...}
//     {"eid":"evt_1f","uid":"user_7","iid":"item_3","ts_n":0.5,"hod":10,"dow":6, ... ,"rate":4.5}
//
// Every record gives exactly one output record. It is blank if the record is blank, lasted less
// than 100 ms or is of an unknown type (filtered), or malformed (failed). A record of the usual
// layout is read by PlainScan alone; any other goes through the strict parser, which decides. The
// configuration "strict" sends every record there.
#include <string_view>

#include <gristmill/plugin.hpp>

#include "event_record.hpp"
#include "record_walk.hpp"

namespace {

using namespace gristmill;

class Medium {
  public:
    explicit Medium(std::string_view config) : strict_only_(is_strict(config, "medium")) {}

    void process(const plugin::Batch &batch, plugin::Output &output) {
        walk_records(*this, strict_only_, batch, output);
    }

    [[gnu::flatten]] bool scan(std::string_view record) noexcept {
        json::PlainScan at(record);
        return scan_event(at, event_) && at.literal<"}">() && at.at_end();
    }

    const char *read(std::string_view record) {
        simdjson::dom::object object;
        if (const char *reason = parser_.parse(record, object))
            return reason;
        return reader_.read(json::Fields(EventReader::top_names, object), event_);
    }

    void finish(plugin::Output &output) {
        const EventFeatures features(event_);
        if (!features.wanted())
            return output.filter(plugin::Leave::blank);
        char *out = features.print(output.start(features.bytes_max()));
        output.emit_until(json::print_literal(out, "}"));
    }

  private:
    const bool strict_only_;
    json::StrictParser parser_;
    EventReader reader_;
    Event event_; // the record in hand
};

} // namespace

GRISTMILL_PLUGIN(Medium, "medium", 0);
