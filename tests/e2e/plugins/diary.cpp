// The identity, which notes each of its calls in the file that is its configuration: one line
// with what was called, and for process() the number of records and bytes.
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>

#include <gristmill/plugin.hpp>

namespace plugin = gristmill::plugin;

namespace {

class Diary {
  public:
    explicit Diary(std::string_view path)
        : file_(::open(std::string(path).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
                       0600)) {
        if (file_ < 0)
            throw std::runtime_error("cannot open the diary");
    }
    Diary(const Diary &) = delete;
    Diary &operator=(const Diary &) = delete;
    ~Diary() {
        note("destroy\n");
        ::close(file_);
    }

    void process(const plugin::Batch &batch, plugin::Output &output) {
        note("process " + std::to_string(batch.record_count()) + " " +
             std::to_string(batch.data().size()) + "\n");
        for (const std::string_view record : batch.records())
            output.emit(record);
    }

  private:
    void note(const std::string &line) const {
        if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
            throw std::runtime_error("cannot write the diary");
    }

    const int file_;
};

} // namespace

GRISTMILL_PLUGIN(Diary, "diary", 0);
