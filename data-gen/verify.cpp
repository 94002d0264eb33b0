#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "compression.hpp"
#include "digest.hpp"
#include "document_vocabulary.hpp"
#include "guarded.hpp"
#include "manifest.hpp"
#include "os/fd_io.hpp"
#include "os/os_error.hpp"

namespace gristmill::datagen {

namespace {

constexpr std::size_t read_bytes = std::size_t{1} << 20;

/// Gives `take`, which returns false to stop, the content of a file piece by piece.
template <class Take>
std::optional<GenerateError> read_pieces(const std::string &path, Take &&take) {
    const Result<os::UniqueFd> fd = os::open_for_reading(path);
    if (!fd)
        return GenerateError{fd.error().message, fd.error().os_errno, path};
    std::vector<std::byte> buffer(read_bytes);
    for (std::uint64_t offset = 0;;) {
        const std::int64_t got = os::pread_full(fd->get(), buffer, offset);
        if (got < 0) {
            const int number = errno;
            return GenerateError{
                os::errno_error(ErrorKind::source, number, "cannot read '" + path + "'").message,
                number, path};
        }
        const auto size = static_cast<std::size_t>(got);
        if (size == 0 || !take(text_of({buffer.data(), size})))
            return std::nullopt;
        offset += size;
    }
}

GenerateError differs(const std::string &file, const std::string &how) {
    return {"'" + file + "' is not what its manifest says: " + how, 0};
}

std::string count_differs(std::string_view what, std::uint64_t is, std::uint64_t expected) {
    return std::to_string(is) + " " + std::string(what) + " instead of " + std::to_string(expected);
}

/// What a file is found to hold.
struct Content {
    Digest digest = {};
    std::uint64_t bytes = 0;
    std::uint64_t file_bytes = 0;
    bool unpacks = true;
    bool stopped = false;
};

std::optional<GenerateError> read_content(const std::string &file, Compression compression,
                                          const Progress &progress, Content &content) {
    const auto decompressor = make_decompressor(compression);
    const auto take = [&content](std::string_view bytes) {
        content.digest.add(bytes);
        content.bytes += bytes.size();
    };
    auto error = read_pieces(file, [&](std::string_view piece) {
        content.file_bytes += piece.size();
        if (decompressor == nullptr) {
            take(piece);
        } else {
            content.unpacks = decompressor->add(piece, take);
        }
        content.stopped = progress && !progress(0, content.bytes);
        return content.unpacks && !content.stopped;
    });
    content.unpacks = content.unpacks && (decompressor == nullptr || decompressor->complete());
    return error;
}

std::optional<GenerateError> verify_content(const std::string &file, const Manifest &manifest,
                                            const Progress &progress) {
    Content content;
    if (auto error = read_content(file, manifest.compression, progress, content))
        return error;
    if (content.stopped)
        return GenerateError{file + ": stopped", ECANCELED};
    if (!content.unpacks)
        return differs(file, "it cannot be decompressed");
    if (content.file_bytes != manifest.file_bytes)
        return differs(file, count_differs("bytes", content.file_bytes, manifest.file_bytes));
    if (content.bytes != manifest.bytes)
        return differs(file, count_differs("bytes unpacked", content.bytes, manifest.bytes));
    if (const std::string digest = content.digest.text(); digest != manifest.xxh3_128)
        return differs(file, "digest " + digest + " instead of " + manifest.xxh3_128);
    if (progress)
        progress(manifest.records, manifest.bytes);
    return std::nullopt;
}

std::optional<GenerateError> verify_vocabulary(const std::string &file) {
    const std::string path = vocabulary_path(file);
    std::string text;
    auto error = read_pieces(path, [&text](std::string_view piece) {
        text.append(piece);
        return true;
    });
    if (!error && text != vocabulary_text())
        return GenerateError{"'" + path + "' is not the vocabulary of its corpus", 0};
    return error;
}

} // namespace

std::optional<GenerateError> verify(const std::string &file, const Progress &progress) noexcept {
    return guarded([&]() -> std::optional<GenerateError> {
        Manifest manifest;
        if (auto error = read_manifest(file, manifest))
            return error;
        if (auto error = verify_content(file, manifest, progress))
            return error;
        if (manifest.set == RecordSet::tokenize)
            return verify_vocabulary(file);
        return std::nullopt;
    });
}

} // namespace gristmill::datagen
