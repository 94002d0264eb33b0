// An engine of one thread, for tests: loads a plugin through its ABI and watches its manners.
#ifndef GRISTMILL_TESTS_PLUGIN_HOST_HPP
#define GRISTMILL_TESTS_PLUGIN_HOST_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gristmill/plugin.h>

namespace gristmill::test {

/// How the records of a batch lie side by side.
struct Framing {
    std::uint32_t kind = GM_FRAMING_DELIMITER;
    std::string delimiter = "\n";

    static Framing by(std::string delimiter) {
        return {GM_FRAMING_DELIMITER, std::move(delimiter)};
    }
    static Framing u32() { return {GM_FRAMING_U32LE, {}}; }
    static Framing fixed() { return {GM_FRAMING_FIXED, {}}; }

    std::string join(const std::vector<std::string> &records) const;
    /// The records in `bytes`; under fixed framing the whole is one record.
    std::vector<std::string> split(std::string_view bytes) const;
};

struct Failure {
    std::uint64_t index;
    std::string reason;
    std::size_t output_before; // bytes committed when it was reported

    bool operator==(const Failure &) const = default;
};

/// What a plugin did with one batch.
struct Outcome {
    int status = GM_FAIL_BATCH;
    std::string output;
    std::uint64_t emitted = 0;
    std::uint64_t filtered = 0;
    std::uint64_t failed = 0;
    std::vector<Failure> failures;
    std::vector<std::string> complaints; // breaches of the ABI; to be empty

    bool operator==(const Outcome &) const = default;
};

/// A plugin with one state. Input lies in read-only memory that ends, padding included, before an
/// unmapped page; each reservation lies between guard bytes.
class PluginHost {
  public:
    PluginHost(const struct gm_plugin &plugin, const char *config);
    /// Loads the shared object `path`; ok() is false when it exports no plugin.
    explicit PluginHost(const char *path, const char *config = "");
    ~PluginHost();
    PluginHost(const PluginHost &) = delete;
    PluginHost &operator=(const PluginHost &) = delete;

    bool ok() const {
        return plugin_ != nullptr && (plugin_->create == nullptr || state_ != nullptr);
    }
    const struct gm_plugin &plugin() const { return *plugin_; }
    /// What the plugin last gave as the reason of its failure.
    const std::string &explanation() const { return explanation_; }

    /// From now on reserve() gives at most so many bytes in all, then NULL.
    void limit_memory(std::uint64_t bytes) { memory_left_ = bytes; }

    Outcome run(const std::vector<std::string> &records, const Framing &framing = {});
    Outcome run_bytes(std::string_view bytes, std::uint64_t record_count,
                      std::uint64_t record_bytes, const Framing &framing);

  private:
    void create(const char *config);

    void *library_ = nullptr;
    const struct gm_plugin *plugin_ = nullptr;
    void *state_ = nullptr;
    gm_host host_{};
    std::string explanation_;
    std::uint64_t memory_left_ = UINT64_MAX;
};

} // namespace gristmill::test

#endif
