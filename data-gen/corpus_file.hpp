// A generated file with what belongs to it.
#ifndef GRISTMILL_DATAGEN_CORPUS_FILE_HPP
#define GRISTMILL_DATAGEN_CORPUS_FILE_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <gristmill/error.hpp>

#include "compression.hpp"
#include "digest.hpp"
#include "generate.hpp"
#include "manifest.hpp"
#include "os/output_file.hpp"

namespace gristmill::datagen {

/// Takes the chunks of a spec; at commit() they appear under their name, compressed if the spec
/// says so, with manifest and vocabulary beside them. Without it nothing is left behind.
///
/// What is written in place (a pipe, a device) has nothing beside it.
class CorpusFile {
  public:
    static Result<CorpusFile> create(const GenerateSpec &spec, const std::string &path);

    Result<void> add(const Chunk &chunk);
    Result<void> commit();

  private:
    CorpusFile(const GenerateSpec &spec, const std::string &path, os::OutputFile file);
    Result<void> write(std::string_view bytes, bool last);
    Result<void> name_all();

    std::string path_;
    bool alone_; // nothing beside it
    os::OutputFile file_;
    std::unique_ptr<Compressor> compressor_; // null: none
    std::string packed_;
    Digest digest_;
    Manifest manifest_; // of what was added so far
};

} // namespace gristmill::datagen

#endif
