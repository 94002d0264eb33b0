#include "corpus_file.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/bytes.hpp"
#include "chunk_rounds.hpp"
#include "document_vocabulary.hpp"
#include "os/os_error.hpp"

namespace gristmill::datagen {

namespace {

bool written_in_place(const std::string &path) {
    std::error_code unknown;
    const std::filesystem::file_status status = std::filesystem::status(path, unknown);
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

/// A file with its content, still without its name.
Result<os::OutputFile> prepared(const std::string &path, std::string_view content) {
    Result<os::OutputFile> file = os::OutputFile::create(path);
    if (!file)
        return file;
    if (Result<void> written = file->write(bytes_of(content)); !written)
        return written.error();
    return file;
}

Result<void> remove_file(const std::string &path) {
    std::error_code failed;
    std::filesystem::remove(path, failed);
    if (failed)
        return os::errno_error(ErrorKind::output, failed.value(), "cannot remove '" + path + "'",
                               path);
    return {};
}

} // namespace

CorpusFile::CorpusFile(const GenerateSpec &spec, const std::string &path, os::OutputFile file)
    : path_(path), alone_(written_in_place(path)), file_(std::move(file)),
      compressor_(make_compressor(spec.compression, threads_to_use(spec.threads))),
      manifest_(manifest_of(spec)) {
    manifest_.records = 0;
}

Result<CorpusFile> CorpusFile::create(const GenerateSpec &spec, const std::string &path) {
    Result<os::OutputFile> file = os::OutputFile::create(path);
    if (!file)
        return file.error();
    return CorpusFile(spec, path, std::move(*file));
}

Result<void> CorpusFile::add(const Chunk &chunk) {
    digest_.add(chunk.bytes);
    manifest_.records += chunk.records;
    manifest_.valid += chunk.valid;
    manifest_.bytes += chunk.bytes.size();
    return write(chunk.bytes, false);
}

Result<void> CorpusFile::write(std::string_view bytes, bool last) {
    if (compressor_ != nullptr) {
        packed_.clear();
        compressor_->add(bytes, last, packed_);
        bytes = packed_;
    }
    manifest_.file_bytes += bytes.size();
    return file_.write(bytes_of(bytes));
}

Result<void> CorpusFile::commit() {
    if (Result<void> written = write({}, true); !written)
        return written;
    if (alone_)
        return file_.commit();
    manifest_.xxh3_128 = digest_.text();
    return name_all();
}

// All that can fill a disk comes first. Then an old manifest goes before the file that it no
// longer describes comes, so that a run killed in between leaves none that is wrong.
Result<void> CorpusFile::name_all() {
    Result<os::OutputFile> manifest = prepared(manifest_path(path_), manifest_text(manifest_));
    if (!manifest)
        return manifest.error();
    if (manifest_.set == RecordSet::tokenize) {
        Result<os::OutputFile> words = prepared(vocabulary_path(path_), vocabulary_text());
        if (!words)
            return words.error();
        if (Result<void> committed = words->commit(); !committed)
            return committed;
    }
    if (Result<void> removed = remove_file(manifest_path(path_)); !removed)
        return removed;
    if (Result<void> committed = file_.commit(); !committed)
        return committed;
    return manifest->commit();
}

} // namespace gristmill::datagen
