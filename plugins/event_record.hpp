// The event that the records of "medium" and "heavy" tell of: reading it, and printing its
// features.
#ifndef GRISTMILL_PLUGINS_EVENT_RECORD_HPP
#define GRISTMILL_PLUGINS_EVENT_RECORD_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "event_codes.hpp"
#include "json_format.hpp"
#include "json_scan.hpp"
#include "json_strict.hpp"
#include "python_arithmetic.hpp"

namespace gristmill {

/// What the features are made of. Texts are as they are printed; json::copy_slack readable bytes
/// follow each.
struct Event {
    std::string_view id;
    std::string_view user;
    std::string_view item;
    std::string_view scroll_depth;
    std::string_view sessions;
    std::string_view signup_days;
    std::string_view rating;
    json::Number time{std::int64_t{0}}; // seconds, exact
    double duration_ms = 0;             // above -1
    double price_cents = 0;             // above -1
    bool has_revenue = false;
    json::Word type;
    json::Word device;
    json::Word tier;
};

/// Reads an event of the usual layout from its first brace on, up to the one that closes it; false
/// if it is anything else.
inline bool scan_event(json::PlainScan &at, Event &event) noexcept {
    std::string_view time, duration, revenue, price, unread;
    const bool usual =
        at.literal<"{\"event_id\":\"">() && at.text(event.id) &&                //
        at.literal<"\",\"user_id\":\"">() && at.text(event.user) &&             //
        at.literal<"\",\"item_id\":\"">() && at.text(event.item) &&             //
        at.literal<"\",\"session_id\":\"">() && at.text(unread) &&              //
        at.literal<"\",\"timestamp\":">() && at.integer(time) &&                //
        at.literal<",\"event_type\":\"">() && at.word(event.type) &&            //
        at.literal<"\",\"device\":\"">() && at.word(event.device) &&            //
        at.literal<"\",\"duration_ms\":">() && at.integer(duration) &&          //
        at.literal<",\"scroll_depth\":">() && at.decimal(event.scroll_depth) && //
        at.literal<",\"revenue_cents\":">() && at.integer(revenue) &&           //
        at.literal<",\"user_context\":{\"num_prev_sessions\":">() && at.integer(event.sessions) &&
        at.literal<",\"avg_session_duration_s\":">() && at.decimal(unread) &&
        at.literal<",\"user_tier\":\"">() && at.word(event.tier) &&
        at.literal<"\",\"days_since_signup\":">() && at.integer(event.signup_days) &&
        at.literal<"},\"item_context\":{\"category\":\"">() && at.text(unread) &&
        at.literal<"\",\"price_cents\":">() && at.integer(price) && at.literal<",\"rating\":">() &&
        at.decimal(event.rating) && at.literal<",\"num_reviews\":">() && at.integer(unread) &&
        at.literal<"},\"experiment_bucket\":\"">() && at.text(unread) && at.literal<"\"">();
    if (!usual)
        return false;
    event.time = json::PlainScan::value_of(time);
    event.duration_ms = static_cast<double>(json::PlainScan::value_of(duration));
    event.price_cents = static_cast<double>(json::PlainScan::value_of(price));
    event.has_revenue = revenue != "0";
    return true;
}

/// Reads any event; owns the text that its events point to.
class EventReader {
  public:
    /// Null when `event` has been read from `fields`, else the reason why the record is malformed.
    /// `names` begins with top_names.
    template <std::size_t Count>
    const char *read(const json::Fields<Count> &fields, Event &event) {
        Raw raw;
        if (const char *reason = read_top(fields, raw, event))
            return reason;
        if (const char *reason = read_contexts(fields, raw, event))
            return reason;
        print(raw, event);
        return nullptr;
    }

    enum Top {
        event_id,
        user_id,
        item_id,
        timestamp,
        event_type,
        device,
        duration_ms,
        scroll_depth,
        revenue_cents,
        user_context,
        item_context,
        top_count
    };
    static constexpr std::array<std::string_view, top_count> top_names{
        "event_id",    "user_id",      "item_id",       "timestamp",    "event_type",  "device",
        "duration_ms", "scroll_depth", "revenue_cents", "user_context", "item_context"};

  private:
    enum OfUser { num_prev_sessions, user_tier, days_since_signup };
    static constexpr std::array<std::string_view, 3> user_names{"num_prev_sessions", "user_tier",
                                                                "days_since_signup"};
    enum OfItem { price_cents, rating };
    static constexpr std::array<std::string_view, 2> item_names{"price_cents", "rating"};

    /// What is printed as it was parsed.
    struct Raw {
        std::string_view id, user, item;
        json::Number scroll_depth{0.0};
        json::Number sessions{std::int64_t{0}};
        json::Number signup_days{std::int64_t{0}};
        json::Number rating{0.0};
    };

    template <std::size_t Count>
    static const char *read_top(const json::Fields<Count> &fields, Raw &raw, Event &event) {
        std::string_view type, device_name;
        json::Number duration{std::int64_t{0}}, revenue{std::int64_t{0}};
        if (!fields.get(event_id, raw.id))
            return "event_id is not a string";
        if (!fields.get(user_id, raw.user))
            return "user_id is not a string";
        if (!fields.get(item_id, raw.item))
            return "item_id is not a string";
        if (!fields.get(timestamp, event.time) || !event.time.is_exact())
            return "timestamp is not a number, or an integer beyond 2^53";
        if (!fields.get(event_type, type))
            return "event_type is not a string";
        if (!fields.get(device, device_name))
            return "device is not a string";
        if (!fields.get_optional(duration_ms, duration) || !is_size(duration))
            return "duration_ms is not a number above -1, or an integer beyond 2^53";
        if (!fields.get_optional(scroll_depth, raw.scroll_depth))
            return "scroll_depth is not a number";
        if (!fields.get_optional(revenue_cents, revenue) || !revenue.is_exact())
            return "revenue_cents is not a number, or an integer beyond 2^53";
        event.type = json::Word(type);
        event.device = json::Word(device_name);
        event.duration_ms = duration.as_double();
        event.has_revenue = revenue.as_double() > 0;
        return nullptr;
    }

    template <std::size_t Count>
    static const char *read_contexts(const json::Fields<Count> &fields, Raw &raw, Event &event) {
        json::Fields<3> of_user;
        json::Fields<2> of_item;
        std::string_view tier;
        json::Number price{std::int64_t{0}};
        if (!fields.get_optional(user_context, user_names, of_user))
            return "user_context is not an object";
        if (!fields.get_optional(item_context, item_names, of_item))
            return "item_context is not an object";
        if (!of_user.get_optional(num_prev_sessions, raw.sessions))
            return "num_prev_sessions is not a number";
        if (!of_user.get_optional(user_tier, tier))
            return "user_tier is not a string";
        if (!of_user.get_optional(days_since_signup, raw.signup_days))
            return "days_since_signup is not a number";
        if (!of_item.get_optional(price_cents, price) || !is_size(price))
            return "price_cents is not a number above -1, or an integer beyond 2^53";
        if (!of_item.get_optional(rating, raw.rating))
            return "rating is not a number";
        event.tier = json::Word(tier);
        event.price_cents = price.as_double();
        return nullptr;
    }

    static bool is_size(const json::Number &number) noexcept {
        return number.is_exact() && number.as_double() > -1;
    }

    void print(const Raw &raw, Event &event) {
        text_.resize(json::string_bytes_max(raw.id.size() + raw.user.size() + raw.item.size()) +
                     4 * json::number_bytes_max + json::copy_slack);
        char *out = text_.data();
        out = print_text(out, raw.id, event.id);
        out = print_text(out, raw.user, event.user);
        out = print_text(out, raw.item, event.item);
        out = print_number(out, raw.scroll_depth, event.scroll_depth);
        out = print_number(out, raw.sessions, event.sessions);
        out = print_number(out, raw.signup_days, event.signup_days);
        print_number(out, raw.rating, event.rating);
    }

    static char *print_text(char *out, std::string_view text, std::string_view &printed) noexcept {
        char *const end = json::print_string_body(out, text);
        printed = {out, end};
        return end;
    }

    static char *print_number(char *out, json::Number number, std::string_view &printed) noexcept {
        char *const end = number.print(out);
        printed = {out, end};
        return end;
    }

    std::string text_;
};

class EventFeatures {
  public:
    explicit EventFeatures(const Event &event) noexcept
        : event_(event), type_(codes::code_of(codes::events, event.type)) {}

    /// False for an event that is to be left out.
    bool wanted() const noexcept {
        constexpr double duration_min_ms = 100;
        return event_.duration_ms >= duration_min_ms && type_ >= 0;
    }

    /// Room that print() needs, json::copy_slack included.
    std::size_t bytes_max() const noexcept {
        constexpr std::size_t rest_bytes_max = 400;
        return event_.id.size() + event_.user.size() + event_.item.size() + rest_bytes_max;
    }

    /// Writes the features as a JSON object, but for its closing brace.
    char *print(char *out) const noexcept {
        using namespace json;
        out = print_text(print_literal(out, "{\"eid\":\""), event_.id);
        out = print_text(print_literal(out, "\",\"uid\":\""), event_.user);
        out = print_text(print_literal(out, "\",\"iid\":\""), event_.item);
        out = print_literal(out, "\"");
        event_.time.visit([&out](auto seconds) { out = print_time(out, seconds); });
        out = codes::print_code(print_literal(out, ",\"et\":"), type_);
        out = codes::print_code(print_literal(out, ",\"dev\":"),
                                codes::code_of(codes::devices, event_.device));
        out = print_log(print_literal(out, ",\"log_dur\":"), event_.duration_ms);
        out = print_text(print_literal(out, ",\"scr\":"), event_.scroll_depth);
        out = codes::print_code(print_literal(out, ",\"rev\":"), event_.has_revenue);
        out = codes::print_code(print_literal(out, ",\"tier\":"),
                                std::max(0, codes::code_of(codes::tiers, event_.tier)));
        out = print_text(print_literal(out, ",\"sess\":"), event_.sessions);
        out = print_text(print_literal(out, ",\"dss\":"), event_.signup_days);
        out = print_log(print_literal(out, ",\"log_pr\":"), event_.price_cents);
        return print_text(print_literal(out, ",\"rate\":"), event_.rating);
    }

  private:
    static char *print_time(char *out, std::uint64_t) noexcept { return out; } // never exact

    template <class Seconds>
    static char *print_time(char *out, Seconds seconds) noexcept {
        using namespace json;
        constexpr std::int64_t origin = 1700000000, hour = 3600, day = 24 * hour, week_days = 7;
        using python::floor_div, python::floor_mod;
        out =
            print_double(print_literal(out, ",\"ts_n\":"), python::true_div(seconds - origin, day));
        out =
            print_number(print_literal(out, ",\"hod\":"), floor_div(floor_mod(seconds, day), hour));
        return print_number(print_literal(out, ",\"dow\":"),
                            floor_mod(floor_div(seconds, day), week_days));
    }

    static char *print_log(char *out, double value) noexcept {
        return json::print_rounded_to_4(out, std::log(1.0 + value));
    }

    const Event &event_;
    const int type_;
};

} // namespace gristmill

#endif
