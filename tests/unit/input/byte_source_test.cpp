// Bytes of a source, decompressed on the way: all of them, in order, however they come.
#include <fcntl.h>
#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "input/byte_source.hpp"
#include "packers.hpp"
#include "spool_cuts.hpp"
#include "support/random.hpp"
#include "support/test_file.hpp"

namespace gristmill::input {
namespace {

using test::InputPipe;
using test::Random;
using Got = ByteSource::Got;

constexpr Compression kAll[] = {Compression::none, Compression::gzip, Compression::zstd,
                                Compression::xz, Compression::lz4};

std::string some_text(Random &random, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes)
        text += "record " + std::to_string(random.below(1000)) + "\n";
    text.resize(bytes);
    return text;
}

// Reads to the end or the failure, with rooms of random size; nothing_yet: one step of the writer.
template <class Step>
Got read_all(ByteSource &source, Random &random, std::size_t room_max, std::string &all,
             Step &&step) {
    std::string room(room_max, '\0');
    for (;;) {
        const std::size_t bytes = random.between(1, room_max);
        const ByteSource::Read read =
            source.read({reinterpret_cast<std::byte *>(room.data()), bytes});
        if (read.got == Got::bytes) {
            if (read.bytes == 0 || read.bytes > bytes)
                throw std::logic_error("more than there is room for, or nothing");
            all.append(room, 0, read.bytes);
        } else if (read.got == Got::nothing_yet) {
            step();
        } else {
            return read.got;
        }
    }
}

TEST(ByteSource, all_bytes_whatever_they_are_packed_with) {
    const test::SeedRange seeds(300);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        Random random(seed);
        const Compression compression = kAll[random.below(std::size(kAll))];
        const std::string data = some_text(random, random.below(random.one_in(5) ? 300'000 : 3'000));
        const std::string packed = test::pack(compression, data, random.next());
        const std::size_t buffered = random.one_in(2) ? random.below(packed.size() + 1) : 0;
        const std::size_t steps = packed.size() > 5'000 ? 20'000 : random.between(1, 300);
        InputPipe pipe;
        ByteSource source = pipe.source(packed.substr(0, buffered));
        std::size_t at = buffered;
        std::string all;
        const Got ended = read_all(source, random, random.one_in(2) ? 7 : 70'000, all, [&] {
            if (at == packed.size())
                pipe.close();
            else
                at += pipe.write(
                    std::string_view(packed).substr(at, 1 + random.below(steps)));
        });
        ASSERT_EQ(ended, Got::end) << name_of(compression) << ", " << test::replay(seed);
        ASSERT_TRUE(all == data) << name_of(compression) << ", " << test::replay(seed);
        std::byte room[4];
        EXPECT_EQ(source.read(room).got, Got::end) << "and stays so";
    }
}

// A byte at a time: each gives what can be known of it.
TEST(ByteSource, a_trickle) {
    Random random(1);
    const std::string data = some_text(random, 500);
    for (const Compression compression : kAll) {
        const std::string packed = test::pack(compression, data);
        InputPipe pipe;
        ByteSource source = pipe.source();
        std::string all;
        std::size_t at = 0;
        const Got ended = read_all(source, random, 100, all, [&] {
            if (compression == Compression::none) {
                ASSERT_EQ(all.size(), at) << "nothing is held back";
            }
            if (at < packed.size())
                at += pipe.write(packed.substr(at, 1));
            else
                pipe.close();
        });
        EXPECT_EQ(ended, Got::end);
        EXPECT_EQ(all, data) << name_of(compression);
    }
}

TEST(ByteSource, is_plain_when_system_calls_put_the_bytes_there) {
    std::byte room[8];
    InputPipe plain;
    ByteSource source = plain.source("before");
    EXPECT_FALSE(source.plain()) << "nobody knows yet";
    plain.write("after");
    ASSERT_EQ(source.read(std::span(room).first(4)).bytes, 4u);
    EXPECT_FALSE(source.plain()) << "some of the bytes before are to be copied yet";
    while (source.read(room).got == Got::bytes) {
    }
    EXPECT_TRUE(source.plain());
    InputPipe packed;
    packed.write(test::pack_gzip("text"));
    ByteSource unpacked = packed.source();
    ASSERT_EQ(unpacked.read(room).got, Got::bytes);
    EXPECT_FALSE(unpacked.plain());
}

// A regular file that is known not to be compressed: these bytes, whatever becomes of it.
TEST(ByteSource, a_file_is_as_long_as_it_was) {
    const test::MemoryFile file("0123456789abcdef");
    const auto source = [&](std::uint64_t offset, std::uint64_t bytes) {
        return ByteSource::of_file(
            os::InputDescriptor::own(os::UniqueFd(::dup(file.fd())), offset), bytes, "'file'");
    };
    Random random(1);
    std::string all;
    ByteSource part = source(3, 5);
    EXPECT_TRUE(part.plain());
    EXPECT_EQ(read_all(part, random, 4, all, [] {}), Got::end);
    EXPECT_EQ(all, "34567") << "and not what was added behind it";
    all.clear();
    ByteSource shrunk = source(4, 100);
    EXPECT_EQ(read_all(shrunk, random, 7, all, [] {}), Got::failed);
    EXPECT_EQ(all, "456789abcdef");
    EXPECT_EQ(shrunk.failure().message, "'file' shrank from 100 to 12 bytes while it was read");
    EXPECT_EQ(shrunk.failure().kind, ErrorKind::source);
}

// What begins like a magic number, and ends.
TEST(ByteSource, the_beginning_of_a_magic_number_is_text) {
    for (const std::string text : {"\x1f", "\x1f\x8b", "\x28\xb5\x2f", "\x04", "\xfd\x37zX", "\x50"}) {
        InputPipe pipe;
        ByteSource source = pipe.source();
        pipe.write(text);
        std::byte room[20];
        EXPECT_EQ(source.read(room).got, Got::nothing_yet) << "more may come";
        pipe.close();
        std::string all;
        Random random(1);
        EXPECT_EQ(read_all(source, random, 20, all, [] {}), Got::end);
        EXPECT_EQ(all, text);
    }
}

// A FIFO may have another writer later: it is not this source's.
TEST(ByteSource, the_end_is_the_end) {
    const test::TestFolder folder;
    const std::string path = folder.file("fifo");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    ByteSource source(os::InputDescriptor::own(os::UniqueFd(
                          ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC))),
                      {}, "'fifo'");
    std::byte room[20];
    os::UniqueFd writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::write(writer.get(), "first", 5), 5);
    EXPECT_EQ(source.read(room).bytes, 5u);
    writer.reset();
    EXPECT_EQ(source.read(room).got, Got::end);
    writer.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::write(writer.get(), "second", 6), 6);
    EXPECT_EQ(source.read(room).got, Got::end);
}

TEST(ByteSource, damage_comes_behind_all_that_is_good) {
    Random random(5);
    const std::string data = some_text(random, 200'000);
    for (const Compression compression : {Compression::gzip, Compression::zstd, Compression::lz4,
                                          Compression::xz}) {
        const std::string whole = test::pack(compression, data);
        for (const bool cut_off : {true, false}) {
            InputPipe pipe;
            const std::string packed =
                cut_off ? whole.substr(0, whole.size() - 3) : whole + "garbage behind the end";
            ByteSource source = pipe.source();
            std::string all;
            std::size_t at = 0;
            const Got ended = read_all(source, random, 5'000, all, [&] {
                if (at == packed.size())
                    pipe.close();
                else
                    at += pipe.write(std::string_view(packed).substr(at, 999));
            });
            ASSERT_EQ(ended, Got::failed) << name_of(compression);
            EXPECT_EQ(source.failure().kind, ErrorKind::source);
            EXPECT_TRUE(source.failure().message.starts_with("'pipe': ")) << source.failure().message;
            EXPECT_NE(source.failure().message.find(name_of(compression)), std::string::npos);
            EXPECT_EQ(source.failure().path, "'pipe'");
            EXPECT_TRUE(all == data.substr(0, all.size()));
            EXPECT_EQ(all.size(), data.size()) << name_of(compression);
            std::byte room[4];
            EXPECT_EQ(source.read(room).got, Got::failed) << "and stays so";
        }
    }
}

TEST(ByteSource, a_descriptor_that_fails_is_named_with_the_byte) {
    const test::TestFolder folder;
    const os::UniqueFd fd(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ByteSource source(std::move(os::InputDescriptor::adopt(fd.get(), std::nullopt, "it").value()),
                      "12345", "'it'");
    std::string all;
    Random random(1);
    EXPECT_EQ(read_all(source, random, 3, all, [] {}), Got::failed);
    EXPECT_EQ(all, "12345");
    EXPECT_EQ(source.failure().kind, ErrorKind::source);
    EXPECT_EQ(source.failure().os_errno, EISDIR);
    EXPECT_TRUE(source.failure().message.starts_with("cannot read 'it' (at byte 5): "))
        << source.failure().message;
}

// Room without memory behind it: not the source's fault.
TEST(ByteSource, room_that_cannot_be_written_to_is_a_lack_of_memory) {
    InputPipe pipe;
    pipe.write("text and more");
    ByteSource source = pipe.source();
    std::byte room[10];
    ASSERT_EQ(source.read(room).got, Got::bytes);
    const ByteSource::Read read = source.read({reinterpret_cast<std::byte *>(4096), 10});
    ASSERT_EQ(read.got, Got::failed);
    EXPECT_EQ(source.failure().kind, ErrorKind::memory);
}

} // namespace
} // namespace gristmill::input
