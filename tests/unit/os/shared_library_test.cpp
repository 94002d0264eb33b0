#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "os/os_error.hpp"
#include "os/shared_library.hpp"
#include "support/test_file.hpp"

namespace gristmill::os {
namespace {

TEST(FileIdentity, tells_versions_apart) {
    const test::TestFolder folder;
    const std::string path = folder.write("file", "one");
    const FileIdentity first = file_identity(path);
    EXPECT_EQ(file_identity(path), first);
    folder.write("file", "longer");
    EXPECT_NE(file_identity(path), first);
    EXPECT_EQ(file_identity(folder.file("missing")), FileIdentity{});
}

TEST(SharedLibrary, a_bare_name_is_a_file_here_and_no_library_of_the_system) {
    const Result<SharedLibrary> library = SharedLibrary::load("libm.so.6");
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().kind, ErrorKind::plugin);
    EXPECT_EQ(library.error().path, (std::filesystem::current_path() / "libm.so.6").string());
}

TEST(OsError, names_what_and_why) {
    const Error error = errno_error(ErrorKind::source, ENOENT, "cannot open 'x'", "x");
    EXPECT_EQ(error.message, "cannot open 'x': No such file or directory");
    EXPECT_EQ(error.kind, ErrorKind::source);
    EXPECT_EQ(error.os_errno, ENOENT);
    EXPECT_EQ(error.path, "x");
}

} // namespace
} // namespace gristmill::os
