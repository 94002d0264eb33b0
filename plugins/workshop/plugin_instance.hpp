// A plugin under test, called as the engine calls it, with every call watched and judged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gristmill/plugin.h>

#include "fault_report.hpp"
#include "output_record.hpp"
#include "records.hpp"

namespace gristmill::workshop {

/// What is checked, and how.
struct Subject {
    std::string path; // absolute
    std::string symbol = "gm_plugin";
    std::string config;
    Framing framing;
    std::uint64_t seed = 1;
    double step_seconds = 20;    // that a step may take
    std::vector<RecordSet> sets; // to try it with; the sample records first
};

/// The shared object, loaded. Throws StepEnds when it does not load or does not describe a plugin.
class LoadedPlugin {
  public:
    explicit LoadedPlugin(const Subject &subject);
    ~LoadedPlugin();
    LoadedPlugin(const LoadedPlugin &) = delete;
    LoadedPlugin &operator=(const LoadedPlugin &) = delete;

    const gm_plugin &abi() const noexcept { return *abi_; }
    const Subject &subject() const noexcept { return subject_; }
    bool whole_batches() const noexcept { return abi_->flags & GM_PLUGIN_WHOLE_BATCHES; }

  private:
    const Subject &subject_;
    void *handle_;
    const gm_plugin *abi_;
};

/// What one call of process() gave.
struct BatchResult {
    int status = GM_FAIL_BATCH;
    std::string output;
    std::uint64_t emitted = 0;
    std::uint64_t filtered = 0;
    std::uint64_t failed = 0;
    std::vector<FailedRecord> failures;
    std::string explanation;
    bool ran_out = false; // a reserve() found no memory

    bool whole() const noexcept { return status == GM_OK; }
};

/// One state of the plugin. Threads: the one that made it.
class PluginInstance {
  public:
    /// Calls create(); throws StepEnds when it gives no state.
    explicit PluginInstance(const LoadedPlugin &plugin, const Handling &handling = {});
    /// Calls destroy().
    ~PluginInstance();
    PluginInstance(const PluginInstance &) = delete;
    PluginInstance &operator=(const PluginInstance &) = delete;

    /// Calls process() and judges what a single call can show: memory, counts, framing. Never
    /// throws what the plugin throws.
    BatchResult process(const RecordRange &range, const Handling &handling = {});

  private:
    struct GivenHost {
        gm_host raw;
        std::uint8_t later[64];
    };

    static int on_cancelled(const gm_host *host);
    static void on_explain(const gm_host *host, const char *text);

    int call(const RecordRange &range, const gm_batch &batch, OutputRecord &output);

    const LoadedPlugin &plugin_;
    GivenHost host_{};
    bool cancelled_ = false;
    std::string explanation_;
    void *state_ = nullptr;
    InputBlock input_;
};

} // namespace gristmill::workshop
