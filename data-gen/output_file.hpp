// A file that comes into being whole or not at all.
#ifndef GRISTMILL_DATAGEN_OUTPUT_FILE_HPP
#define GRISTMILL_DATAGEN_OUTPUT_FILE_HPP

#include <string>
#include <string_view>

namespace gristmill::datagen {

/// Writes beside its path under a temporary name, which commit() gives the right name; destroyed
/// without a commit it removes what it wrote. A path that exists and is no regular file is
/// written to in place. Operations return 0 or errno.
class OutputFile {
  public:
    OutputFile() = default;
    ~OutputFile();
    OutputFile(const OutputFile &) = delete;
    OutputFile &operator=(const OutputFile &) = delete;

    /// A symbolic link stands for the file it leads to.
    int open(const std::string &path);
    int write(std::string_view bytes);
    int commit();

  private:
    int open_temporary();
    int close();

    std::string path_;
    std::string temporary_; // empty: there is none, or it has been renamed
    int descriptor_ = -1;
};

} // namespace gristmill::datagen

#endif
