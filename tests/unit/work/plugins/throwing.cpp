// A plugin that lets exceptions escape, which none may: case A58.
#include <stdexcept>
#include <string>

#include <gristmill/plugin.h>

namespace {

int state;

void *create(const char *config, const gm_host *) {
    if (std::string(config) == "in-create")
        throw std::runtime_error("thrown by create");
    state = std::string(config) == "odd" ? 1 : 0;
    return &state;
}

int process(void *, const gm_batch *, gm_output *) {
    if (state == 1)
        throw 42;
    throw std::runtime_error("thrown by process");
}

void destroy(void *) { throw std::runtime_error("thrown by destroy"); }

} // namespace

extern "C" const gm_plugin gm_plugin = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin), "throwing", 0, create, process, destroy};
