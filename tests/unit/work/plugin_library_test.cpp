// Every way in which a plugin does not load gives one clear error that names the file and the way
// out.
#include <cstring>
#include <elf.h>
#include <string>

#include <gtest/gtest.h>

#include "support/test_file.hpp"
#include "work/plugin_library.hpp"

namespace gristmill::work {
namespace {

const std::string kBroken = TEST_PLUGINS "/broken.so";

void expect_refused(const std::string &path, const std::string &symbol,
                    const std::string &expected) {
    const Result<PluginLibrary> library = PluginLibrary::load(path, symbol);
    ASSERT_FALSE(library) << expected;
    EXPECT_EQ(library.error().kind, ErrorKind::plugin);
    EXPECT_NE(library.error().message.find(expected), std::string::npos)
        << library.error().message;
    EXPECT_NE(library.error().message.find(path), std::string::npos) << library.error().message;
    EXPECT_EQ(library.error().path, path);
}

TEST(PluginLibrary, loads) {
    const Result<PluginLibrary> library = PluginLibrary::load(kBroken, "gm_plugin");
    ASSERT_TRUE(library);
    EXPECT_STREQ(library->plugin().name, "broken");
    EXPECT_EQ(library->path(), kBroken);
}

TEST(PluginLibrary, what_is_no_shared_object) {
    const test::TestFolder folder;
    expect_refused(folder.file("missing.so"), "gm_plugin", "No such file or directory");
    expect_refused(folder.path(), "gm_plugin", "is a directory");
    expect_refused(folder.write("empty.so", ""), "gm_plugin", "is empty");
    expect_refused(folder.write("text.so", "int main() {}\n"), "gm_plugin",
                   "is not a shared object");
    expect_refused(folder.write("four.so", "\x7f" "ELF"), "gm_plugin", "is not a shared object");
    expect_refused("/dev/null", "gm_plugin", "is not a regular file");
}

TEST(PluginLibrary, compiled_for_another_machine) {
    const test::TestFolder folder;
    std::string bytes = test::TestFolder::read(kBroken);
    const auto patched = [&](std::size_t at, std::uint16_t value, const std::string &name) {
        std::string other = bytes;
        std::memcpy(other.data() + at, &value, sizeof value);
        return folder.write(name, other);
    };
    constexpr std::size_t machine = offsetof(Elf64_Ehdr, e_machine);
    expect_refused(patched(machine, EM_RISCV, "riscv.so"), "gm_plugin", "is compiled for RISC-V");
    expect_refused(patched(machine, EM_386, "i386.so"), "gm_plugin", "32-bit x86");
    expect_refused(patched(machine, 4242, "odd.so"), "gm_plugin", "ELF machine 4242");
    expect_refused(patched(offsetof(Elf64_Ehdr, e_type), ET_EXEC, "program.so"), "gm_plugin",
                   "link it with -shared");
    expect_refused(folder.write("cut.so", bytes.substr(0, 200)), "gm_plugin", "does not load");
}

TEST(PluginLibrary, a_symbol_that_is_missing) {
    expect_refused(kBroken, "other_plugin", "exports no symbol 'other_plugin'");
    expect_refused(TEST_PLUGINS "/unresolved.so", "gm_plugin", "a_function_that_nobody_has");
}

TEST(PluginLibrary, another_abi) {
    expect_refused(kBroken, "newer_abi", "speaks plugin ABI 2, this engine knows 1 to 1");
    expect_refused(kBroken, "abi_zero", "speaks plugin ABI 0");
}

TEST(PluginLibrary, an_incomplete_description) {
    for (const std::string symbol : {"cut_short", "nameless", "idle", "stateless"})
        expect_refused(kBroken, symbol, "incomplete `" + symbol + "`");
}

TEST(PluginCache, loads_once_until_the_file_changes) {
    const test::TestFolder folder;
    const std::string path = folder.write("plugin.so", test::TestFolder::read(kBroken));
    PluginCache cache;
    const PluginSpec spec{path};
    const auto first = cache.get(spec);
    ASSERT_TRUE(first);
    const auto second = cache.get(spec);
    ASSERT_TRUE(second);
    EXPECT_EQ(*first, *second);
    std::filesystem::remove(path);
    folder.write("plugin.so", test::TestFolder::read(TEST_PLUGINS "/throwing.so"));
    const auto changed = cache.get(spec);
    ASSERT_TRUE(changed);
    EXPECT_STREQ((*changed)->plugin().name, "throwing");
    std::filesystem::remove(path);
    EXPECT_FALSE(cache.get(spec)) << "it is gone";
}

} // namespace
} // namespace gristmill::work
