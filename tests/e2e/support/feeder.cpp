#include "support/feeder.hpp"

#include <algorithm>
#include <fcntl.h>
#include <random>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gristmill::e2e {

const char *name_of(Kind kind) {
    static constexpr const char *names[] = {"file", "file at an offset", "pipe", "FIFO", "socket"};
    return names[static_cast<std::size_t>(kind)];
}

Feeder::Feeder(Kind kind, const Scratch &scratch, const std::string &bytes, std::uint64_t seed,
               std::size_t buffered) {
    const std::string rest = bytes.substr(std::min(buffered, bytes.size()));
    int ends[2] = {-1, -1};
    switch (kind) {
    case Kind::file:
        source_ = Source(scratch.write("fed", bytes));
        return;
    case Kind::file_at_offset:
        reading_ = ::open(scratch.write("fed", "before" + rest).c_str(), O_RDONLY | O_CLOEXEC);
        ::lseek(reading_, 6, SEEK_SET);
        break;
    case Kind::fifo: {
        const std::string path = scratch.path("fifo");
        ::unlink(path.c_str());
        if (::mkfifo(path.c_str(), 0600) != 0)
            throw std::runtime_error("mkfifo");
        source_ = Source(path);
        writer_ = std::thread([this, path, bytes, seed] {
            feed(::open(path.c_str(), O_WRONLY | O_CLOEXEC), bytes, seed);
        });
        return;
    }
    case Kind::pipe:
        if (::pipe2(ends, O_CLOEXEC) != 0)
            throw std::runtime_error("pipe");
        break;
    case Kind::socket:
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            throw std::runtime_error("socketpair");
        break;
    }
    if (ends[0] >= 0) {
        reading_ = ends[0];
        writer_ = std::thread([this, fd = ends[1], rest, seed] { feed(fd, rest, seed); });
    }
    source_ = Source::from_descriptor(reading_, std::string("<") + name_of(kind) + ">");
    source_.buffered = bytes.substr(0, std::min(buffered, bytes.size()));
}

void Feeder::feed(int fd, std::string bytes, std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t most = random() % 4 == 0 ? 70'000 : 300;
        const std::size_t wanted = std::min(bytes.size() - at, 1 + random() % most);
        const ssize_t put = ::write(fd, bytes.data() + at, wanted);
        if (put <= 0)
            break;
        at += static_cast<std::size_t>(put);
        if (random() % 3 == 0)
            std::this_thread::yield();
    }
    ::close(fd);
}

Feeder::~Feeder() {
    if (reading_ >= 0)
        ::close(reading_);
    if (writer_.joinable())
        writer_.join();
}

} // namespace gristmill::e2e
