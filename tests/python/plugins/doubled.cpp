// Every record twice in one, by the C++ veneer.
#include <string>

#include <gristmill/plugin.hpp>

namespace {

struct Doubled {
    void process(const gristmill::plugin::Batch &batch, gristmill::plugin::Output &output) {
        for (std::string_view record : batch.records())
            output.emit(std::string(record) + std::string(record));
    }
};

} // namespace

GRISTMILL_PLUGIN(Doubled, "doubled", 0);
