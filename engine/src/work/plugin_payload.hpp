// Compiled plugins as payloads.
#pragma once

#include <memory>
#include <string>

#include <gristmill/engine.hpp>

#include "work/payload.hpp"
#include "work/plugin_library.hpp"

namespace gristmill::work {

// Makes one plugin state per worker.
class PluginFactory final : public PayloadFactory {
  public:
    // `library` outlives the factory and its payloads.
    PluginFactory(const PluginLibrary &library, std::string config, Framing framing);

    Result<std::unique_ptr<Payload>> make(const WorkerIdentity &identity,
                                          const WorkerSignals &signals) override;

  private:
    const PluginLibrary &library_;
    std::string config_;
    Framing framing_;
};

} // namespace gristmill::work
