#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/stat.h>

#include "ledger.hpp"
#include "plugin_instance.hpp"
#include "words.hpp"

namespace gristmill::workshop {

namespace {

// The part of the description that must be right before anything else in it can be trusted.
std::string wrong_description(const gm_plugin &plugin) {
    if (plugin.abi_version == 0 || plugin.abi_version > GM_PLUGIN_ABI_VERSION)
        return words("speaks plugin ABI %u, the engine knows 1 to %u; set abi_version to "
                     "GM_PLUGIN_ABI_VERSION and compile against this engine's plugin.h",
                     plugin.abi_version, GM_PLUGIN_ABI_VERSION);
    if (plugin.struct_size < sizeof(gm_plugin))
        return words(
            "has a struct_size of %u, of ABI 1 it is at least %zu; set it to sizeof(struct "
            "gm_plugin)",
            plugin.struct_size, sizeof(gm_plugin));
    if (plugin.process == nullptr)
        return "has no process(): it is the one function that a plugin must have";
    if (plugin.name == nullptr)
        return "has no name: messages need one";
    return "";
}

[[noreturn]] void end_step(const char *topic, const std::string &why) {
    violation(topic, why);
    throw StepEnds();
}

void examine_file(const std::string &path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0)
        end_step("file", "the file cannot be opened: " + std::string(std::strerror(errno)));
    if (S_ISDIR(facts.st_mode))
        end_step("file", "it is a directory; name the shared object (.so) in it");
    if (!S_ISREG(facts.st_mode))
        end_step("file", "it is no regular file; name a shared object (.so)");
    if (facts.st_size == 0)
        end_step("file", "the file is empty; build it anew");
}

void *load(const std::string &path) {
    examine_file(path);
    const WatchedCall watched("loading the file", nullptr, nullptr, nullptr);
    void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr)
        return handle;
    const char *said = ::dlerror();
    const std::string reason = said == nullptr ? "unknown reason" : said;
    const char *way_out = "";
    if (reason.find("undefined symbol") != std::string::npos)
        way_out =
            "; link it against the library that has this symbol (plugin build FILE -- -lNAME)";
    else if (reason.find("cannot open shared object file") != std::string::npos)
        way_out = "; install that library, or link it statically";
    else if (reason.find("ELF") != std::string::npos ||
             reason.find("too short") != std::string::npos)
        way_out = "; build it on this machine, with -shared -fPIC";
    end_step("load", "it does not load: " + reason + way_out);
}

} // namespace

LoadedPlugin::LoadedPlugin(const Subject &subject)
    : subject_(subject), handle_(load(subject.path)),
      abi_(static_cast<const gm_plugin *>(::dlsym(handle_, subject.symbol.c_str()))) {
    if (abi_ == nullptr)
        end_step("symbol", "it exports no symbol '" + subject.symbol +
                               "'; define `GM_PLUGIN_EXPORT const struct gm_plugin " +
                               subject.symbol + "`, or name another one: FILE.so:SYMBOL");
    const WatchedCall watched("reading the description", nullptr, nullptr, nullptr);
    if (const std::string wrong = wrong_description(*abi_); !wrong.empty())
        end_step("description", "'" + subject.symbol + "' " + wrong);
}

LoadedPlugin::~LoadedPlugin() {
    const WatchedCall watched("unloading the file", nullptr, nullptr, nullptr);
    ::dlclose(handle_);
}

} // namespace gristmill::workshop
