#include "medium.hpp"

#include "print.hpp"

namespace gristmill::datagen {

namespace {

char *print_user_context(char *out, const MediumRecord &record) noexcept {
    out = print(print(out, ",\"user_context\":{\"num_prev_sessions\":"), record.previous_sessions);
    out = print_rounded1(print(out, ",\"avg_session_duration_s\":"), record.average_session_s);
    out = print(print(out, ",\"user_tier\":\""), tiers.values[record.picks.tier]);
    return print(print(out, "\",\"days_since_signup\":"), record.days_since_signup);
}

char *print_item_context(char *out, const MediumRecord &record) noexcept {
    out = print_padded(print(out, "},\"item_context\":{\"category\":\"cat_"), record.category, 3);
    out = print(print(out, "\",\"price_cents\":"), record.price_cents);
    out = print_rounded1(print(out, ",\"rating\":"), record.rating);
    return print(print(out, ",\"num_reviews\":"), record.reviews);
}

} // namespace

char *print_medium_fields(char *out, const MediumRecord &record) noexcept {
    out = print_hex12(print(out, "{\"event_id\":\"evt_"), record.event_id);
    out = print_padded(print(out, "\",\"user_id\":\"user_"), record.user_id, 8);
    out = print_padded(print(out, "\",\"item_id\":\"item_"), record.item_id, 6);
    out = print_hex12(print(out, "\",\"session_id\":\"sess_"), record.session_id);
    out = print(print(out, "\",\"timestamp\":"), record.timestamp);
    out = print(print(out, ",\"event_type\":\""), event_types.values[record.picks.event_type]);
    out = print(print(out, "\",\"device\":\""), devices.values[record.picks.device]);
    out = print(print(out, "\",\"duration_ms\":"), record.duration_ms);
    out = print_rounded3(print(out, ",\"scroll_depth\":"), record.scroll_depth);
    out = print(print(out, ",\"revenue_cents\":"), record.revenue_cents);
    out = print_item_context(print_user_context(out, record), record);
    out = print(out, "},\"experiment_bucket\":\"exp_");
    *out++ = record.experiment;
    return print(out, "\"");
}

char *print_medium(char *out, const MediumRecord &record) noexcept {
    return print(print_medium_fields(out, record), "}");
}

} // namespace gristmill::datagen
