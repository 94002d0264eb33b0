// Descriptors that are read in order: never waited for inside a read, never moved, never changed.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "os/input_descriptor.hpp"
#include "support/test_file.hpp"

namespace gristmill::os {
namespace {

using Got = InputDescriptor::Got;

struct Ends {
    UniqueFd reading{};
    UniqueFd writing{};
};

Ends make_pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0)
        std::abort();
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Ends make_sockets(int type = SOCK_STREAM) {
    int fds[2];
    if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0)
        std::abort();
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

InputDescriptor adopt(int fd, std::optional<std::uint64_t> offset = std::nullopt) {
    return std::move(InputDescriptor::adopt(fd, offset, "it").value());
}

void put(int fd, std::string_view text) {
    ASSERT_EQ(::write(fd, text.data(), text.size()), ssize_t(text.size()));
}

// What one read gives, or what it says.
std::string get(InputDescriptor &input, std::size_t room = 100) {
    std::string text(room, '\0');
    const auto read = input.read({reinterpret_cast<std::byte *>(text.data()), text.size()});
    switch (read.got) {
    case Got::bytes:
        return text.substr(0, read.bytes);
    case Got::nothing_yet:
        return "(nothing yet)";
    case Got::end:
        return "(end)";
    case Got::failed:
        break;
    }
    return "(failed: " + std::to_string(errno) + ")";
}

std::string failed(int os_errno) { return "(failed: " + std::to_string(os_errno) + ")"; }

TEST(InputDescriptor, a_pipe) {
    Ends pipe = make_pipe();
    InputDescriptor input = adopt(pipe.reading.get());
    EXPECT_EQ(get(input), "(nothing yet)");
    put(pipe.writing.get(), "some text");
    EXPECT_EQ(get(input, 4), "some");
    EXPECT_EQ(get(input), " text");
    EXPECT_EQ(get(input), "(nothing yet)");
    put(pipe.writing.get(), "more");
    pipe.writing.reset();
    EXPECT_EQ(get(input), "more");
    EXPECT_EQ(get(input), "(end)");
    EXPECT_EQ(get(input), "(end)");
}

TEST(InputDescriptor, a_pipe_that_nobody_has_written_to) {
    Ends pipe = make_pipe();
    pipe.writing.reset();
    InputDescriptor input = adopt(pipe.reading.get());
    EXPECT_EQ(get(input), "(end)") << "its writer is gone, it will not come";
}

TEST(InputDescriptor, flags_of_the_description_stay_and_the_descriptor_stays_open) {
    for (const bool socket : {false, true})
        for (const int flag : {0, O_NONBLOCK}) {
            const Ends ends = socket ? make_sockets() : make_pipe();
            const int before = ::fcntl(ends.reading.get(), F_GETFL) | flag;
            ::fcntl(ends.reading.get(), F_SETFL, before);
            {
                InputDescriptor input = adopt(ends.reading.get());
                EXPECT_EQ(get(input), "(nothing yet)");
                EXPECT_EQ(::fcntl(ends.reading.get(), F_GETFL), before);
            }
            EXPECT_EQ(::fcntl(ends.reading.get(), F_GETFL), before);
            EXPECT_EQ(::fcntl(ends.reading.get(), F_GETFD), FD_CLOEXEC);
            put(ends.writing.get(), "x");
            char letter = 0;
            EXPECT_EQ(::read(ends.reading.get(), &letter, 1), 1) << "it can be read by its owner";
        }
}

TEST(InputDescriptor, outlives_the_descriptor_it_was_made_of) {
    Ends pipe = make_pipe();
    InputDescriptor input = adopt(pipe.reading.get());
    pipe.reading.reset();
    put(pipe.writing.get(), "text");
    EXPECT_EQ(get(input), "text");
    EXPECT_TRUE(::fcntl(input.fd(), F_GETFD) & FD_CLOEXEC);
}

TEST(InputDescriptor, what_cannot_be_read_is_refused) {
    const Ends pipe = make_pipe();
    for (const int fd : {-1, 1'000'000, pipe.writing.get()}) {
        const auto input = InputDescriptor::adopt(fd, std::nullopt, "the name");
        ASSERT_FALSE(input) << fd;
        EXPECT_EQ(input.error().kind, ErrorKind::source);
        EXPECT_EQ(input.error().os_errno, EBADF);
        EXPECT_EQ(input.error().path, "the name");
        EXPECT_NE(input.error().message.find("'the name'"), std::string::npos);
    }
}

// --- FIFOs --------------------------------------------------------------------------------------

class Fifo {
  public:
    Fifo() : path_(folder_.file("fifo")) {
        if (::mkfifo(path_.c_str(), 0600) != 0)
            std::abort();
    }
    UniqueFd reader() const {
        return UniqueFd(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    }
    InputDescriptor input() const { return InputDescriptor::own(reader()); }
    UniqueFd writer() const { return UniqueFd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC)); }

  private:
    const test::TestFolder folder_;
    const std::string path_;
};

TEST(InputDescriptor, a_fifo_has_no_end_before_its_first_writer) {
    const Fifo fifo;
    InputDescriptor input = fifo.input();
    EXPECT_EQ(get(input), "(nothing yet)");
    UniqueFd writer = fifo.writer();
    EXPECT_EQ(get(input), "(nothing yet)");
    put(writer.get(), "text");
    EXPECT_EQ(get(input), "text");
    writer.reset();
    EXPECT_EQ(get(input), "(end)");
}

TEST(InputDescriptor, a_fifo_whose_writer_came_and_left) {
    for (const bool wrote : {false, true})
        for (const bool looked_before : {false, true}) {
            const Fifo fifo;
            InputDescriptor input = fifo.input();
            if (looked_before) {
                EXPECT_EQ(get(input), "(nothing yet)");
            }
            UniqueFd writer = fifo.writer();
            if (wrote)
                put(writer.get(), "text");
            writer.reset();
            if (wrote) {
                EXPECT_EQ(get(input), "text");
            }
            EXPECT_EQ(get(input), "(end)");
        }
}

// Whoever gave the descriptor has seen its writer.
TEST(InputDescriptor, an_adopted_fifo_whose_writer_came_and_left) {
    const Fifo fifo;
    const UniqueFd reading = fifo.reader();
    fifo.writer().reset();
    InputDescriptor input = adopt(reading.get());
    EXPECT_EQ(get(input), "(end)");
}

TEST(InputDescriptor, a_fifo_with_two_writers_one_after_the_other) {
    const Fifo fifo;
    InputDescriptor input = fifo.input();
    UniqueFd first = fifo.writer();
    put(first.get(), "one");
    UniqueFd second = fifo.writer();
    first.reset();
    EXPECT_EQ(get(input), "one");
    EXPECT_EQ(get(input), "(nothing yet)") << "the second is there";
    put(second.get(), "two");
    second.reset();
    EXPECT_EQ(get(input), "two");
    EXPECT_EQ(get(input), "(end)");
    UniqueFd third = fifo.writer();
    put(third.get(), "three");
    EXPECT_EQ(get(input), "three") << "if somebody asks again";
}

// It opens, writes and closes while we look.
TEST(InputDescriptor, a_quick_writer_of_a_fifo_is_not_missed) {
    for (int round = 0; round < 200; ++round) {
        const Fifo fifo;
        InputDescriptor input = fifo.input();
        std::atomic<bool> go{false};
        std::thread writer([&] {
            while (!go.load()) {
            }
            for (int spin = 0; spin < round * 7 % 600 && go.load(); ++spin) {
            }
            const UniqueFd fd = fifo.writer();
            EXPECT_EQ(::write(fd.get(), "data", 4), 4);
        });
        go.store(true);
        std::string all;
        for (std::string got; (got = get(input)) != "(end)";)
            if (got != "(nothing yet)")
                all += got;
        writer.join();
        ASSERT_EQ(all, "data") << "round " << round;
    }
}

// --- sockets ------------------------------------------------------------------------------------

TEST(InputDescriptor, a_stream_socket) {
    const Ends ends = make_sockets();
    InputDescriptor input = adopt(ends.reading.get());
    EXPECT_EQ(get(input), "(nothing yet)");
    put(ends.writing.get(), "some text");
    EXPECT_EQ(get(input, 4), "some");
    EXPECT_EQ(get(input), " text");
    put(ends.writing.get(), "last");
    ASSERT_EQ(::shutdown(ends.writing.get(), SHUT_WR), 0);
    EXPECT_EQ(get(input), "last");
    EXPECT_EQ(get(input), "(end)");
    EXPECT_EQ(::write(ends.reading.get(), "answer", 6), 6) << "the other way is open";
}

TEST(InputDescriptor, sockets_of_messages_are_refused) {
    for (const int type : {SOCK_DGRAM, SOCK_SEQPACKET}) {
        const Ends ends = make_sockets(type);
        const auto input = InputDescriptor::adopt(ends.reading.get(), std::nullopt, "it");
        ASSERT_FALSE(input) << "what does not fit would be lost";
        EXPECT_EQ(input.error().kind, ErrorKind::source);
    }
}

// A TCP connection that is reset by the other side.
TEST(InputDescriptor, a_reset_is_no_end) {
    const UniqueFd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto *general = reinterpret_cast<sockaddr *>(&address);
    if (::bind(listening.get(), general, bytes) != 0 || ::listen(listening.get(), 1) != 0)
        GTEST_SKIP() << "no network here";
    ASSERT_EQ(::getsockname(listening.get(), general, &bytes), 0);
    UniqueFd other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(other.get(), general, bytes), 0);
    const UniqueFd mine(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    InputDescriptor input = adopt(mine.get());
    put(other.get(), "text");
    pollfd item{mine.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&item, 1, 5000), 1);
    EXPECT_EQ(get(input), "text");
    const linger at_once{1, 0};
    ASSERT_EQ(::setsockopt(other.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    other.reset();
    ASSERT_EQ(::poll(&item, 1, 5000), 1);
    EXPECT_EQ(get(input), failed(ECONNRESET));
    const UniqueFd lonely(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    InputDescriptor unconnected = adopt(lonely.get());
    EXPECT_EQ(get(unconnected), failed(ENOTCONN));
}

// --- files and devices --------------------------------------------------------------------------

TEST(InputDescriptor, a_file_is_read_from_where_it_stands_and_not_moved) {
    const test::MemoryFile file("0123456789");
    for (const std::uint64_t offset : {0u, 3u, 10u, 15u}) {
        ::lseek(file.fd(), 7, SEEK_SET);
        InputDescriptor input = adopt(file.fd(), offset);
        EXPECT_EQ(input.offset(), offset);
        EXPECT_EQ(get(input), offset < 10 ? std::string("0123456789").substr(offset) : "(end)");
        EXPECT_EQ(get(input), "(end)");
        EXPECT_EQ(::lseek(file.fd(), 0, SEEK_CUR), 7);
    }
    InputDescriptor input = adopt(file.fd());
    EXPECT_EQ(input.offset(), 7u);
    EXPECT_EQ(get(input, 2), "78");
    EXPECT_EQ(input.offset(), 9u);
    EXPECT_EQ(get(input), "9");
    EXPECT_EQ(::lseek(file.fd(), 0, SEEK_CUR), 7);
    InputDescriptor own = InputDescriptor::own(UniqueFd(::dup(file.fd())));
    EXPECT_EQ(get(own), "0123456789") << "what was opened by path begins at 0";
}

TEST(InputDescriptor, a_folder_fails) {
    const test::TestFolder folder;
    const UniqueFd fd(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    InputDescriptor input = adopt(fd.get());
    EXPECT_EQ(get(input), failed(EISDIR));
}

TEST(InputDescriptor, devices) {
    for (const bool by_path : {false, true})
        for (const bool zero : {false, true}) {
            UniqueFd fd(::open(zero ? "/dev/zero" : "/dev/null", O_RDONLY | O_CLOEXEC | O_NONBLOCK));
            InputDescriptor input =
                by_path ? InputDescriptor::own(UniqueFd(::dup(fd.get()))) : adopt(fd.get());
            EXPECT_EQ(get(input, 5), zero ? std::string(5, '\0') : "(end)");
        }
}

// Both ends of a terminal; its lines come when they are finished.
TEST(InputDescriptor, a_terminal) {
    int master = -1;
    int slave = -1;
    ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
    const UniqueFd keyboard(master);
    UniqueFd terminal(slave);
    InputDescriptor input = adopt(terminal.get());
    EXPECT_EQ(get(input), "(nothing yet)");
    put(keyboard.get(), "half");
    EXPECT_EQ(get(input), "(nothing yet)");
    put(keyboard.get(), " line\n");
    EXPECT_EQ(get(input), "half line\n");
    put(keyboard.get(), "\4"); // end of file
    EXPECT_EQ(get(input), "(end)");

    InputDescriptor screen = adopt(keyboard.get());
    while (get(screen) != "(nothing yet)") { // the echo
    }
    put(terminal.get(), "out\n");
    EXPECT_EQ(get(screen), "out\r\n") << "of this terminal, not of another one";
}

// What cannot be opened anew is read only when there is something.
TEST(InputDescriptor, a_descriptor_without_a_path) {
    const WakeDescriptor wake = std::move(WakeDescriptor::create().value());
    const int flags = ::fcntl(wake.fd(), F_GETFL);
    ::fcntl(wake.fd(), F_SETFL, flags & ~O_NONBLOCK); // a read would wait
    InputDescriptor input = adopt(wake.fd());
    EXPECT_EQ(get(input), "(nothing yet)");
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(wake.fd(), &one, sizeof one), ssize_t(sizeof one));
    EXPECT_EQ(get(input).size(), 8u);
    EXPECT_EQ(get(input), "(nothing yet)");
}

// --- waiting ------------------------------------------------------------------------------------

constexpr std::int64_t kLongNs = 20'000'000'000;

TEST(WaitForInput, input_that_is_there_or_comes) {
    const WakeDescriptor wake = std::move(WakeDescriptor::create().value());
    const Ends pipe = make_pipe();
    std::thread writer([&] {
        ::usleep(20'000);
        put(pipe.writing.get(), "x");
    });
    EXPECT_EQ(wait_for_input(pipe.reading.get(), wake, -1), Waited::input);
    writer.join();
    EXPECT_EQ(wait_for_input(pipe.reading.get(), wake, -1), Waited::input) << "still there";
    EXPECT_EQ(wait_for_input(pipe.reading.get(), wake, 0), Waited::input);
}

TEST(WaitForInput, an_end_is_input) {
    const WakeDescriptor wake = std::move(WakeDescriptor::create().value());
    Ends pipe = make_pipe();
    pipe.writing.reset();
    EXPECT_EQ(wait_for_input(pipe.reading.get(), wake, -1), Waited::input);
}

TEST(WaitForInput, times_out_when_it_is_over_and_not_before) {
    const WakeDescriptor wake = std::move(WakeDescriptor::create().value());
    const Ends pipe = make_pipe();
    EXPECT_EQ(wait_for_input(pipe.reading.get(), wake, 0), Waited::timed_out);
    const std::uint64_t before = wall_clock_ns();
    EXPECT_EQ(wait_for_input(pipe.reading.get(), wake, 5'000'000), Waited::timed_out);
    EXPECT_GE(wall_clock_ns() - before, 5'000'000u);
    EXPECT_LT(wall_clock_ns() - before, 5'000'000'000u);
}

TEST(WaitForInput, is_woken_for_good_before_and_during_it) {
    const Ends pipe = make_pipe();
    for (const bool before : {false, true}) {
        WakeDescriptor wake = std::move(WakeDescriptor::create().value());
        std::thread signaller([&] {
            if (!before)
                ::usleep(20'000);
            wake.signal();
            wake.signal();
        });
        if (before)
            signaller.join();
        EXPECT_EQ(wait_for_input(pipe.reading.get(), wake, kLongNs), Waited::woken);
        if (!before)
            signaller.join();
        EXPECT_EQ(wait_for_input(pipe.reading.get(), wake, -1), Waited::woken) << "for good";
        put(pipe.writing.get(), "x");
        EXPECT_EQ(wait_for_input(pipe.reading.get(), wake, -1), Waited::woken) << "comes first";
        char letter = 0;
        ASSERT_EQ(::read(pipe.reading.get(), &letter, 1), 1);
    }
}

TEST(WaitForInput, a_signal_is_a_reason_to_look_again) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    struct sigaction old {};
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &old), 0);
    const WakeDescriptor wake = std::move(WakeDescriptor::create().value());
    const Ends pipe = make_pipe();
    const pthread_t waiting = ::pthread_self();
    std::atomic<bool> over{false};
    std::thread interrupting([&] {
        while (!over.load()) {
            ::pthread_kill(waiting, SIGUSR1);
            ::usleep(1'000);
        }
    });
    EXPECT_EQ(wait_for_input(pipe.reading.get(), wake, kLongNs), Waited::input);
    over.store(true);
    interrupting.join();
    ::sigaction(SIGUSR1, &old, nullptr);
    InputDescriptor input = adopt(pipe.reading.get());
    EXPECT_EQ(get(input), "(nothing yet)");
}

} // namespace
} // namespace gristmill::os
