#include "work/plugin_library.hpp"

#include <utility>

namespace gristmill::work {

namespace {

Error abi_error(const std::string &path, const std::string &what) {
    Error error;
    error.kind = ErrorKind::plugin;
    error.message = "plugin '" + path + "': " + what;
    error.path = path;
    return error;
}

} // namespace

Result<PluginLibrary> PluginLibrary::load(const std::string &path, const std::string &symbol) {
    Result<os::SharedLibrary> library = os::SharedLibrary::load(path);
    if (!library)
        return library.error();
    const std::string &file = library->path();
    const auto *plugin = static_cast<const gm_plugin *>(library->symbol(symbol));
    if (!plugin)
        return abi_error(file, "exports no symbol '" + symbol +
                                   "'; define `const struct gm_plugin " + symbol +
                                   "` with default visibility (extern \"C\" in C++), or name "
                                   "another symbol as 'path.so:symbol'");
    if (plugin->abi_version == 0 || plugin->abi_version > GM_PLUGIN_ABI_VERSION)
        return abi_error(file, "speaks plugin ABI " + std::to_string(plugin->abi_version) +
                                   ", this engine knows 1 to " +
                                   std::to_string(GM_PLUGIN_ABI_VERSION) +
                                   "; compile it against this engine's plugin.h");
    if (plugin->struct_size < sizeof(gm_plugin) || !plugin->name || !plugin->process)
        return abi_error(file, "has an incomplete `" + symbol +
                                   "`: struct_size, name and process must be set");
    return PluginLibrary(std::move(*library), plugin);
}

Result<const PluginLibrary *> PluginCache::get(const PluginSpec &spec) {
    const auto key = std::pair(spec.path, spec.symbol);
    const os::FileIdentity identity = os::file_identity(spec.path);
    if (auto found = entries_.find(key); found != entries_.end()) {
        if (found->second.identity == identity)
            return &found->second.library;
        entries_.erase(found);
    }
    Result<PluginLibrary> library = PluginLibrary::load(spec.path, spec.symbol);
    if (!library) {
        library.error().plugin_load = true;
        return library.error();
    }
    auto [entry, fresh] = entries_.emplace(key, Entry{identity, std::move(*library)});
    return &entry->second.library;
}

} // namespace gristmill::work
