// Makes states that are not given back, cannot be given back, or are not there.
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "faulty.hpp"

namespace {

struct State {
    faulty::State base{&faulty::hand_on};
    std::string fault;
};

std::uint8_t *volatile kept; // the last one only

void *sleep_forever(void *) {
    for (;;)
        ::pause();
}

void begin_leaking(const std::string &fault) {
    pthread_t thread;
    if (fault == "leak-memory")
        kept = new std::uint8_t[300];
    else if (fault == "leak-pages")
        ::mmap(nullptr, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else if (fault == "leak-descriptor" && ::open("/dev/null", O_RDONLY) < 0)
        std::abort();
    else if (fault == "leak-thread" &&
             pthread_create(&thread, nullptr, &sleep_forever, nullptr) != 0)
        std::abort();
}

void *create(const char *config, const gm_host *host) {
    const std::string fault = config;
    if (fault == "refusal")
        host->explain(host, "no thank you");
    if (fault == "refusal" || fault == "silent-refusal")
        return nullptr;
    begin_leaking(fault);
    return new State{{&faulty::hand_on}, fault};
}

void destroy(void *state) {
    State *own = static_cast<State *>(state);
    const bool crashes = own->fault == "crash-in-destroy";
    delete own;
    if (crashes)
        *reinterpret_cast<volatile int *>(faulty::zero) = 1;
}

} // namespace

GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {GM_PLUGIN_ABI_VERSION,
                                                     sizeof(struct gm_plugin),
                                                     "faulty",
                                                     GM_PLUGIN_WANTS_OFFSETS,
                                                     &create,
                                                     &faulty::process,
                                                     &destroy};
