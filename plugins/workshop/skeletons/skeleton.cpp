// skeleton: lines in capitals.
//
//     # ...      is left out (filtered)
//     nothing    fails, with a reason
//     any other  comes out in capitals (emitted)
//
// <gristmill/plugin.hpp> frames the output, counts, and catches exceptions.
#include <stdexcept>
#include <string_view>

#include <gristmill/plugin.hpp>

namespace {

using gristmill::plugin::Batch;
using gristmill::plugin::Leave;
using gristmill::plugin::Output;

char capital(char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

// One object per worker; no other thread ever touches it. Members live from batch to batch.
class Plugin {
  public:
    explicit Plugin(std::string_view config) {
        if (!config.empty())
            throw std::invalid_argument("skeleton takes no configuration");
    }

    void process(const Batch &batch, Output &output) {
        for (const std::string_view record : batch.records()) {
            if (record.empty())
                output.fail("the record is empty", Leave::nothing);
            else if (record.front() == '#')
                output.filter(Leave::nothing);
            else
                emit_capitals(record, output);
        }
    }

  private:
    static void emit_capitals(std::string_view record, Output &output) {
        char *to = output.start(record.size()); // room in the output itself
        for (const char letter : record)
            *to++ = capital(letter);
        output.emit_until(to);
    }
};

} // namespace

GRISTMILL_PLUGIN(Plugin, "skeleton", 0);
