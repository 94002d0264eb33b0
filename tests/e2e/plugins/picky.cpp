// Decides record by record what becomes of it, by how the record begins:
//   bad    fails, for the reason "no good: " and the record's first 40 bytes
//   drop   is left out, without a trace in the output
//   blank  is left out and leaves an empty record
//   mute   fails, for no reason
// Every other record comes out as it is. With "trace" as its configuration a failed record leaves
// an empty one, too.
#include <string>
#include <string_view>

#include <gristmill/plugin.hpp>

namespace plugin = gristmill::plugin;

namespace {

class Picky {
  public:
    explicit Picky(std::string_view config)
        : after_failure_(config == "trace" ? plugin::Leave::blank : plugin::Leave::nothing) {}

    void process(const plugin::Batch &batch, plugin::Output &output) {
        for (const std::string_view record : batch.records()) {
            if (record.starts_with("bad"))
                output.fail(("no good: " + std::string(record.substr(0, 40))).c_str(),
                            after_failure_);
            else if (record.starts_with("mute"))
                output.fail(nullptr, after_failure_);
            else if (record.starts_with("drop"))
                output.filter(plugin::Leave::nothing);
            else if (record.starts_with("blank"))
                output.filter(plugin::Leave::blank);
            else
                output.emit(record);
        }
    }

  private:
    const plugin::Leave after_failure_;
};

} // namespace

GRISTMILL_PLUGIN(Picky, "picky", 0);
