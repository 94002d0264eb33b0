// The payload of the record set "light": picks seven fields of an event and writes them compactly.
//
//     {"eid":"evt_1f","uid":7,"iid":3,"ts":1700000060,"et":"click","dev":"web","dur":120}
//     {"e":"evt_1f","u":7,"i":3,"t":60,"v":1,"d":2}
//
// Every record gives exactly one output record. It is blank if the record is blank or lasted less
// than 50 ms (filtered), or malformed (failed). A record of the usual layout is read by PlainScan
// alone; any other goes through the strict parser, which decides. The configuration "strict" sends
// every record there.
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gristmill/plugin.hpp>

#include "event_codes.hpp"
#include "json_format.hpp"
#include "json_scan.hpp"
#include "json_strict.hpp"

namespace {

namespace json = gristmill::json;
namespace codes = gristmill::codes;
using gristmill::plugin::Batch;
using gristmill::plugin::Leave;
using gristmill::plugin::Output;

constexpr std::int64_t time_origin = 1700000000; // seconds; output times count from here
constexpr std::int64_t duration_min_ms = 50;
constexpr std::int64_t exact_max = std::int64_t{1} << 53; // beyond it a double skips integers

/// What the output is made of. Texts are as they are printed; json::copy_slack readable bytes
/// follow each.
struct Event {
    std::string_view id;
    std::string_view user;
    std::string_view item;
    std::int64_t time = 0;
    std::int64_t duration_ms = 0;
    json::Word type;
    json::Word device;
};

/// Reads a record of the usual layout; false if it is anything else.
bool scan(std::string_view record, Event &event) noexcept {
    json::PlainScan at(record);
    std::string_view time, duration;
    const bool usual = at.literal<"{\"eid\":\"">() && at.text(event.id) &&       //
                       at.literal<"\",\"uid\":">() && at.integer(event.user) &&  //
                       at.literal<",\"iid\":">() && at.integer(event.item) &&    //
                       at.literal<",\"ts\":">() && at.integer(time) &&           //
                       at.literal<",\"et\":\"">() && at.word(event.type) &&      //
                       at.literal<"\",\"dev\":\"">() && at.word(event.device) && //
                       at.literal<"\",\"dur\":">() && at.integer(duration) &&    //
                       at.literal<"}">() && at.at_end();
    if (!usual)
        return false;
    event.time = json::PlainScan::value_of(time);
    event.duration_ms = json::PlainScan::value_of(duration);
    return true;
}

/// Reads any record; owns the text that its events point to.
class StrictReader {
  public:
    /// Null when `event` has been read, else the reason why the record is malformed.
    const char *read(std::string_view record, Event &event) {
        simdjson::dom::object object;
        if (const char *reason = parser_.parse(record, object))
            return reason;
        const json::Fields<7> fields(names, object);
        std::string_view id, type, device;
        std::int64_t user = 0, item = 0;
        if (!fields.get(eid, id))
            return "eid is not a string";
        if (!fields.get(uid, user))
            return "uid is not a 64-bit integer";
        if (!fields.get(iid, item))
            return "iid is not a 64-bit integer";
        if (!get_exact(fields, ts, event.time))
            return "ts is not an integer within 2^53";
        if (!fields.get(et, type))
            return "et is not a string";
        if (!fields.get(dev, device))
            return "dev is not a string";
        if (!get_exact(fields, dur, event.duration_ms))
            return "dur is not an integer within 2^53";
        print(id, user, item, event);
        static_assert(json::string_padding >= sizeof(json::Word::bytes));
        event.type = json::Word::of_padded(type);
        event.device = json::Word::of_padded(device);
        return nullptr;
    }

  private:
    enum Name { eid, uid, iid, ts, et, dev, dur };
    static constexpr std::array<std::string_view, 7> names{"eid", "uid", "iid", "ts",
                                                           "et",  "dev", "dur"};

    static bool get_exact(const json::Fields<7> &fields, Name name, std::int64_t &value) noexcept {
        return fields.get(name, value) && value >= -exact_max && value <= exact_max;
    }

    void print(std::string_view id, std::int64_t user, std::int64_t item, Event &event) {
        text_.resize(2 * json::integer_bytes_max + json::string_bytes_max(id.size()) +
                     json::copy_slack);
        char *const user_text = text_.data();
        char *const item_text = json::print_integer(user_text, user);
        char *const id_text = json::print_integer(item_text, item);
        char *const end = json::print_string_body(id_text, id);
        event.user = {user_text, item_text};
        event.item = {item_text, id_text};
        event.id = {id_text, end};
    }

    json::StrictParser parser_;
    std::string text_;
};

void emit(const Event &event, Output &output) {
    constexpr std::size_t rest_bytes_max = 120; // all but the id
    char *out = output.start(event.id.size() + rest_bytes_max + json::copy_slack);
    out = json::print_text(json::print_literal(out, "{\"e\":\""), event.id);
    out = json::print_text(json::print_literal(out, "\",\"u\":"), event.user);
    out = json::print_text(json::print_literal(out, ",\"i\":"), event.item);
    out = json::print_integer(json::print_literal(out, ",\"t\":"), event.time - time_origin);
    out = codes::print_code(json::print_literal(out, ",\"v\":"),
                            codes::code_of(codes::events, event.type));
    out = codes::print_code(json::print_literal(out, ",\"d\":"),
                            codes::code_of(codes::devices, event.device));
    output.emit_until(json::print_literal(out, "}"));
}

class Light {
  public:
    explicit Light(std::string_view config) : strict_only_(config == "strict") {
        if (!config.empty() && !strict_only_) {
            throw std::invalid_argument("light: the only configuration is \"strict\"");
        }
    }

    void process(const Batch &batch, Output &output) {
        for (const std::string_view record : batch.records()) {
            Event event;
            if (strict_only_ || !scan(record, event)) {
                const std::string_view text = json::stripped(record);
                if (text.empty()) {
                    output.filter(Leave::blank);
                    continue;
                }
                if (const char *reason = strict_.read(text, event)) {
                    output.fail(reason, Leave::blank);
                    continue;
                }
            }
            if (event.duration_ms < duration_min_ms) {
                output.filter(Leave::blank);
            } else {
                emit(event, output);
            }
        }
    }

  private:
    const bool strict_only_;
    StrictReader strict_;
};

} // namespace

GRISTMILL_PLUGIN(Light, "light", 0);
