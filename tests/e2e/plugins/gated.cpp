// The identity, but for a batch that holds the record "gate": it says on the FIFO `arrived`, in
// the folder that is its configuration, that it is there, and goes on when a byte comes out of the
// FIFO `go`. A batch that holds the record "forever" ends when the run has been cancelled.
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>

#include <gristmill/plugin.hpp>

namespace plugin = gristmill::plugin;

namespace {

int open_fifo(const std::string &path, int mode) {
    const int fd = ::open(path.c_str(), mode | O_CLOEXEC);
    if (fd < 0)
        throw std::runtime_error("cannot open " + path);
    return fd;
}

class Gated {
  public:
    Gated(std::string_view folder, plugin::Host host) : folder_(folder), host_(host) {}

    void process(const plugin::Batch &batch, plugin::Output &output) {
        for (const std::string_view record : batch.records()) {
            if (record == "gate")
                pass_gate();
            if (record == "forever")
                wait_for_the_end();
            output.emit(record);
        }
    }

  private:
    void pass_gate() const {
        const int arrived = open_fifo(folder_ + "/arrived", O_WRONLY);
        char byte = 'x';
        const bool told = ::write(arrived, &byte, 1) == 1;
        ::close(arrived);
        const int go = open_fifo(folder_ + "/go", O_RDONLY);
        const bool passed = ::read(go, &byte, 1) == 1;
        ::close(go);
        if (!told || !passed)
            throw std::runtime_error("the gate is broken");
    }

    void wait_for_the_end() const {
        const timespec pause{0, 1'000'000};
        while (!host_.cancelled())
            ::nanosleep(&pause, nullptr);
    }

    const std::string folder_;
    const plugin::Host host_;
};

} // namespace

GRISTMILL_PLUGIN(Gated, "gated", 0);
