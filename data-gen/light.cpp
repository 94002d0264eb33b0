#include "light.hpp"

#include "print.hpp"

namespace gristmill::datagen {

char *print_light(char *out, const LightRecord &record) noexcept {
    out = print_hex12(print(out, "{\"eid\":\"evt_"), record.event_id);
    out = print(print(out, "\",\"uid\":"), record.user_id);
    out = print(print(out, ",\"iid\":"), record.item_id);
    out = print(print(out, ",\"ts\":"), record.timestamp);
    out = print(print(out, ",\"et\":\""), event_types.values[record.picks.event_type]);
    out = print(print(out, "\",\"dev\":\""), devices.values[record.picks.device]);
    out = print(print(out, "\",\"dur\":"), record.duration_ms);
    return print(out, "}");
}

} // namespace gristmill::datagen
