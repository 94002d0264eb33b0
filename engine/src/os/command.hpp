// Running another program over some bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gristmill/error.hpp>

namespace gristmill::os {

struct CommandEnd {
    int status = 0;             // as from waitpid(2)
    bool no_memory = false;     // room() had none
    bool stopped = false;       // stop() said so; its group was killed
    std::string standard_error{}; // its last bytes
};

struct CommandStreams {
    std::span<const std::byte> input{};
    // At least so many writable bytes for output, nullptr when there is no memory.
    std::function<std::byte *(std::uint64_t bytes)> room{};
    std::function<void(std::uint64_t bytes)> keep{}; // of the last room, so many are output
    std::function<bool()> stop{};                    // asked ten times a second
    std::function<void(std::int32_t group)> running{}; // in this process group; 0: ended
};

// Where the program is that a shell would start under this name; errno ENOENT, EACCES.
Result<std::string> find_program(const std::string &name);

// Starts a program, in a process group of its own, and feeds it while its output is taken, so that neither waits for the other. A
// program that does not read all of its input is no error. Threads: any.
Result<CommandEnd> run_command(const std::string &path, const std::vector<std::string> &arguments,
                               const CommandStreams &streams);

} // namespace gristmill::os
