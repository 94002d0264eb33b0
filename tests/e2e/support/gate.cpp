#include "support/gate.hpp"

#include <fcntl.h>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

#include "support/runs.hpp"

namespace gristmill::e2e {

namespace {

// Open for both directions: never waits for the other side, never sees it go.
int make_fifo(const std::string &path) {
    if (::mkfifo(path.c_str(), 0600) != 0)
        throw std::runtime_error("cannot make " + path);
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0)
        throw std::runtime_error("cannot open " + path);
    return fd;
}

} // namespace

Gate::Gate() : arrived_(make_fifo(scratch_.path("arrived"))), go_(make_fifo(scratch_.path("go"))) {}

Gate::~Gate() {
    ::close(arrived_);
    ::close(go_);
}

PluginSpec Gate::plugin() const { return test_plugin("gated", scratch_.folder()); }

void Gate::await_arrival() const {
    char byte = 0;
    if (::read(arrived_, &byte, 1) != 1)
        throw std::runtime_error("nobody arrives at the gate");
}

void Gate::open() const {
    const char byte = 'x';
    if (::write(go_, &byte, 1) != 1)
        throw std::runtime_error("the gate does not open");
}

} // namespace gristmill::e2e
