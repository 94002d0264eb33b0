#include "os/shared_library.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

#include "os/fd_io.hpp"
#include "os/os_error.hpp"

namespace gristmill::os {

namespace {

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
constexpr unsigned kMachine = EM_NONE; // not checked
#endif

Error plugin_error(const std::string &path, const std::string &what, int os_errno = 0) {
    Error error;
    error.kind = ErrorKind::plugin;
    error.message = "plugin '" + path + "': " + what;
    error.path = path;
    error.os_errno = os_errno;
    return error;
}

std::string machine_name(unsigned machine) {
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_386:
        return "32-bit x86";
    case EM_AARCH64:
        return "arm64";
    case EM_ARM:
        return "32-bit arm";
    case EM_RISCV:
        return "RISC-V";
    default:
        return "ELF machine " + std::to_string(machine);
    }
}

// Tells people in words what the loader would tell in its own.
Result<void> examine(const std::string &path) {
    Result<UniqueFd> fd = open_for_reading(path);
    if (!fd)
        return plugin_error(path, std::strerror(fd.error().os_errno) +
                                      std::string("; check the path of the compiled plugin"),
                            fd.error().os_errno);
    Result<FileFacts> facts = file_facts(fd->get(), path);
    if (!facts)
        return facts.error();
    if (facts->directory)
        return plugin_error(path, "is a directory; name the shared object (.so) in it", EISDIR);
    if (!facts->regular)
        return plugin_error(path, "is not a regular file; name a shared object (.so)");
    std::array<std::byte, sizeof(Elf64_Ehdr)> start{};
    const std::int64_t got = pread_full(fd->get(), start, 0);
    Elf64_Ehdr header;
    std::memcpy(&header, start.data(), sizeof header);
    if (got < EI_NIDENT || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return plugin_error(path, facts->bytes == 0 ? "is empty; build the plugin anew"
                                                    : "is not a shared object; compile it with "
                                                      "-shared -fPIC and name the .so");
    const bool native = header.e_ident[EI_CLASS] == ELFCLASS64 || kMachine == EM_NONE;
    if (!native || (kMachine != EM_NONE && header.e_machine != kMachine))
        return plugin_error(path, "is compiled for " + machine_name(header.e_machine) +
                                      ", this machine is " + machine_name(kMachine) +
                                      "; compile it here");
    if (header.e_type != ET_DYN)
        return plugin_error(path, "is an ELF file but not a shared object; link it with -shared");
    return {};
}

} // namespace

SharedLibrary::SharedLibrary(void *handle, std::string path)
    : handle_(handle), path_(std::move(path)) {}
SharedLibrary::SharedLibrary(SharedLibrary &&other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}
SharedLibrary &SharedLibrary::operator=(SharedLibrary &&other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(path_, other.path_);
    return *this;
}
SharedLibrary::~SharedLibrary() {
    if (handle_)
        ::dlclose(handle_);
}

Result<SharedLibrary> SharedLibrary::load(const std::string &path) {
    std::error_code ignored;
    const std::string absolute = std::filesystem::absolute(path, ignored).string();
    if (Result<void> examined = examine(absolute); !examined)
        return examined.error();
    void *handle = ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *reason = ::dlerror();
        return plugin_error(absolute,
                            std::string("does not load: ") + (reason ? reason : "unknown reason") +
                                "; link the plugin against every library it needs");
    }
    return SharedLibrary(handle, absolute);
}

void *SharedLibrary::symbol(const std::string &name) const {
    return ::dlsym(handle_, name.c_str());
}

FileIdentity file_identity(const std::string &path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) < 0)
        return {};
    return {facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size),
            facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec};
}

} // namespace gristmill::os
