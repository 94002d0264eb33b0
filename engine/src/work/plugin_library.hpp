// A loaded plugin, checked against the ABI.
#pragma once

#include <map>
#include <string>

#include <gristmill/engine.hpp>
#include <gristmill/error.hpp>
#include <gristmill/plugin.h>

#include "os/shared_library.hpp"

namespace gristmill::work {

// Threads: any, once loaded.
class PluginLibrary {
  public:
    static Result<PluginLibrary> load(const std::string &path, const std::string &symbol);

    const gm_plugin &plugin() const { return *plugin_; }
    const std::string &path() const { return library_.path(); }

  private:
    PluginLibrary(os::SharedLibrary library, const gm_plugin *plugin)
        : library_(std::move(library)), plugin_(plugin) {}
    os::SharedLibrary library_;
    const gm_plugin *plugin_;
};

// Keeps plugins loaded between the runs of an engine; a file that changed is loaded anew.
//
// Threads: one at a time.
class PluginCache {
  public:
    // Valid until the next call.
    Result<const PluginLibrary *> get(const PluginSpec &spec);

  private:
    struct Entry {
        os::FileIdentity identity;
        PluginLibrary library;
    };
    std::map<std::pair<std::string, std::string>, Entry> entries_; // by path and symbol
};

} // namespace gristmill::work
