// How the payloads of the record sets go through a batch.
#ifndef GRISTMILL_PLUGINS_RECORD_WALK_HPP
#define GRISTMILL_PLUGINS_RECORD_WALK_HPP

#include <stdexcept>
#include <string>
#include <string_view>

#include <gristmill/plugin.hpp>

#include "json_strict.hpp"

namespace gristmill {

/// True for the configuration "strict", by which no record takes the fast path; throws
/// std::invalid_argument for any other but the empty one.
inline bool is_strict(std::string_view config, const std::string &payload) {
    if (!config.empty() && config != "strict")
        throw std::invalid_argument(payload + ": the only configuration is \"strict\"");
    return !config.empty();
}

/// Gives each record of `batch` its one output record, blank if there is no result. `payload` has
///
///     bool scan(std::string_view record);          // reads the usual layout; false if it is
///     another const char *read(std::string_view record);   // reads any layout; else why it is
///     malformed void finish(plugin::Output &output);         // emits or filters what has been
///     read
template <class Payload>
void walk_records(Payload &payload, bool strict_only, const plugin::Batch &batch,
                  plugin::Output &output) {
    for (const std::string_view record : batch.records()) {
        if (strict_only || !payload.scan(record)) {
            const std::string_view text = json::stripped(record);
            if (text.empty()) {
                output.filter(plugin::Leave::blank);
                continue;
            }
            if (const char *reason = payload.read(text)) {
                output.fail(reason, plugin::Leave::blank);
                continue;
            }
        }
        payload.finish(output);
    }
}

} // namespace gristmill

#endif
