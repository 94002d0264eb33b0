#include "generate.hpp"

#include <cerrno>
#include <memory>

#include "chunk_rounds.hpp"
#include "corpus_file.hpp"
#include "guarded.hpp"
#include "record_stream.hpp"

namespace gristmill::datagen {

namespace {

constexpr std::uint32_t threads_max = 4096;

GenerateError file_error(const Error &error) { return {error.message, error.os_errno}; }

/// What makes no sense in the spec.
std::optional<GenerateError> refused(const GenerateSpec &spec) {
    const auto because = [](const char *what) { return GenerateError{what, EINVAL}; };
    if (!(spec.malformed_pct >= 0 && spec.malformed_pct <= 100))
        return because("malformed_pct must be between 0 and 100");
    if (spec.threads > threads_max)
        return because("threads must be at most 4096");
    if (spec.large_documents && spec.set != RecordSet::tokenize)
        return because("only the record set tokenize has large documents");
    if (!spec.range)
        return std::nullopt;
    if (spec.stream == Stream::reference)
        return because("a range needs the fast stream: in the reference stream each record depends "
                       "on all before it");
    if (spec.range->begin > spec.range->end || spec.range->end > spec.records)
        return because("the range must lie within the records");
    return std::nullopt;
}

/// Returns an error, also when the sink said stop.
std::optional<GenerateError> hand_on(const GenerateSpec &spec, const Sink &sink) {
    const auto stream =
        spec.stream == Stream::fast ? open_fast_stream(spec) : open_reference_stream(spec);
    const Range range = spec.range.value_or(Range{0, spec.records});
    if (!hand_on_chunks(*stream, range, threads_to_use(spec.threads), sink))
        return GenerateError{"stopped", ECANCELED};
    return std::nullopt;
}

} // namespace

std::optional<GenerateError> generate(const GenerateSpec &spec, const std::string &path,
                                      const Progress &progress) noexcept {
    return guarded([&]() -> std::optional<GenerateError> {
        if (auto error = refused(spec))
            return error;
        Result<CorpusFile> file = CorpusFile::create(spec, path);
        if (!file)
            return file_error(file.error());
        std::uint64_t records = 0, bytes = 0;
        std::optional<GenerateError> failed;
        const auto stopped = hand_on(spec, [&](const Chunk &chunk) {
            if (const Result<void> added = file->add(chunk); !added)
                failed = file_error(added.error());
            records += chunk.records;
            bytes += chunk.bytes.size();
            return !failed && (!progress || progress(records, bytes));
        });
        if (failed)
            return failed;
        if (stopped)
            return GenerateError{path + ": stopped", ECANCELED};
        if (const Result<void> committed = file->commit(); !committed)
            return file_error(committed.error());
        return std::nullopt;
    });
}

std::optional<GenerateError> generate_chunks(const GenerateSpec &spec, const Sink &sink) noexcept {
    return guarded([&]() -> std::optional<GenerateError> {
        if (auto error = refused(spec))
            return error;
        return hand_on(spec, sink);
    });
}

std::optional<GenerateError> append_records(const GenerateSpec &spec, std::string &to) noexcept {
    return generate_chunks(spec, [&to](const Chunk &chunk) {
        to.append(chunk.bytes);
        return true;
    });
}

} // namespace gristmill::datagen
