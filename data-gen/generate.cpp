#include "generate.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <exception>
#include <new>

#include "base/bytes.hpp"
#include "os/output_file.hpp"
#include "record_stream.hpp"

namespace gristmill::datagen {

namespace {

constexpr std::size_t write_bytes = std::size_t{1} << 20; // handed to the kernel at once
constexpr std::uint64_t append_records_max = 128;         // between looks at the buffer's size

GenerateError file_error(const Error &error) { return {error.message, error.os_errno}; }

/// Runs `body`, which returns an error or none, and turns an exception into an error.
template <class Body>
std::optional<GenerateError> guarded(Body &&body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return GenerateError{{}, ENOMEM};
    } catch (const std::exception &error) {
        return GenerateError{error.what(), 0};
    } catch (...) {
        return GenerateError{{}, 0};
    }
}

std::optional<GenerateError> open_stream(const GenerateSpec &spec,
                                         std::unique_ptr<RecordStream> &stream) {
    if (!(spec.malformed_pct >= 0 && spec.malformed_pct <= 100)) {
        return GenerateError{"malformed_pct must be between 0 and 100", EINVAL};
    }
    if (spec.stream == Stream::reference)
        stream = open_reference_stream(spec);
    if (stream == nullptr) {
        return GenerateError{
            "the record set " + std::string(name_of(spec.set)) + " has no such stream", EINVAL};
    }
    return std::nullopt;
}

std::optional<GenerateError> write_all(const GenerateSpec &spec, RecordStream &stream,
                                       const std::string &path, const Progress &progress) {
    Result<os::OutputFile> file = os::OutputFile::create(path);
    if (!file)
        return file_error(file.error());
    std::string buffer;
    std::uint64_t bytes = 0;
    for (std::uint64_t done = 0; done < spec.records;) {
        buffer.clear();
        while (buffer.size() < write_bytes && done < spec.records) {
            const std::uint64_t count = std::min(append_records_max, spec.records - done);
            stream.append(buffer, count);
            done += count;
        }
        if (const Result<void> written = file->write(bytes_of(buffer)); !written)
            return file_error(written.error());
        bytes += buffer.size();
        if (progress && !progress(done, bytes))
            return GenerateError{path + ": stopped", ECANCELED};
    }
    if (const Result<void> committed = file->commit(); !committed)
        return file_error(committed.error());
    return std::nullopt;
}

} // namespace

std::optional<GenerateError> generate(const GenerateSpec &spec, const std::string &path,
                                      const Progress &progress) noexcept {
    return guarded([&]() -> std::optional<GenerateError> {
        std::unique_ptr<RecordStream> stream;
        if (auto error = open_stream(spec, stream))
            return error;
        return write_all(spec, *stream, path, progress);
    });
}

std::optional<GenerateError> append_records(const GenerateSpec &spec, std::string &to) noexcept {
    return guarded([&]() -> std::optional<GenerateError> {
        std::unique_ptr<RecordStream> stream;
        if (auto error = open_stream(spec, stream))
            return error;
        stream->append(to, spec.records);
        return std::nullopt;
    });
}

} // namespace gristmill::datagen
