#include "support/scratch.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace gristmill::e2e {

namespace fs = std::filesystem;

Scratch::Scratch() {
    std::string name = (fs::temp_directory_path() / "gristmill-e2e-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw std::runtime_error("cannot make a folder like " + name);
    folder_ = name;
}

Scratch::~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

std::string Scratch::write(const std::string &name, std::string_view bytes) const {
    const std::string whole = path(name);
    std::ofstream file(whole, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file)
        throw std::runtime_error("cannot write " + whole);
    return whole;
}

std::vector<std::string> Scratch::names() const { return names_in(folder_); }

std::string read_file(const std::string &path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        throw std::runtime_error("cannot open " + path);
    std::string bytes;
    std::array<char, 65536> block;
    ssize_t got = 0;
    while ((got = ::read(fd, block.data(), block.size())) > 0)
        bytes.append(block.data(), static_cast<std::size_t>(got));
    ::close(fd);
    if (got < 0)
        throw std::runtime_error("cannot read " + path);
    return bytes;
}

std::vector<std::string> names_in(const std::string &folder) {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace gristmill::e2e
