#include <gristmill/options.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/bytes.hpp"

namespace gristmill {

namespace {

Error bad_option(std::string message) {
    Error error;
    error.kind = ErrorKind::invalid_option;
    error.message = std::move(message);
    return error;
}

bool parse_number(std::string_view text, std::uint32_t &number) {
    const char *end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, number);
    return failed == std::errc{} && stop == end && !text.empty();
}

Error bad_nodes(const std::string &text) {
    return bad_option("nodes='" + text +
                      "' is not understood; use 'auto', a number of nodes (2), a list of node "
                      "numbers ('0,1'), or '@N' for N logical nodes");
}

} // namespace

Result<NodeRequest> NodeRequest::parse(const std::string &text) {
    NodeRequest request;
    if (text == "auto")
        return request;
    std::string_view rest = text;
    if (rest.find(',') != std::string_view::npos) {
        request.kind = Kind::list;
        do { // "4," is a list of one
            const std::size_t comma = std::min(rest.find(','), rest.size());
            std::uint32_t node = 0;
            if (!parse_number(rest.substr(0, comma), node))
                return bad_nodes(text);
            request.list.push_back(node);
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        } while (!rest.empty());
        return request;
    }
    request.kind = Kind::count;
    if (rest.starts_with('@')) {
        request.kind = Kind::logical;
        rest.remove_prefix(1);
    }
    if (!parse_number(rest, request.count) || request.count == 0)
        return bad_nodes(text);
    return request;
}

std::uint64_t memory_bytes_min(std::uint32_t workers) {
    return std::max<std::uint64_t>(1, workers) * 2 * kMiB;
}

Result<void> validate(const EngineOptions &options) {
    if (options.workers && *options.workers > kWorkersMax)
        return bad_option("workers=" + std::to_string(*options.workers) + " is more than the " +
                          std::to_string(kWorkersMax) + " that one engine may have");
    if (options.nodes.count > kNodesMax)
        return bad_option("nodes: " + std::to_string(options.nodes.count) +
                          " nodes are more than the " + std::to_string(kNodesMax) + " allowed");
    return {};
}

Result<void> validate(const RunOptions &options, std::uint32_t workers) {
    if (options.batch_records && options.batch_bytes)
        return bad_option("batch_records and batch_bytes exclude each other; give one of them");
    if (options.batch_records == std::uint64_t{0})
        return bad_option("batch_records must be at least 1");
    if (options.batch_bytes == std::uint64_t{0})
        return bad_option("batch_bytes must be at least 1");
    if (options.framing.kind == Framing::Kind::delimiter && options.framing.delimiter.empty())
        return bad_option("delimiter must not be empty");
    if (options.framing.kind == Framing::Kind::fixed && options.framing.record_bytes == 0)
        return bad_option("framing: a fixed record must have at least 1 byte");
    if (options.max_record_bytes == 0)
        return bad_option("max_record must be at least 1 byte");
    if (options.framing.kind == Framing::Kind::fixed &&
        options.framing.record_bytes > options.max_record_bytes)
        return bad_option("framing: a fixed record of " +
                          std::to_string(options.framing.record_bytes) +
                          " bytes is longer than max_record");
    if (options.max_errors && options.on_error == OnError::raise)
        return bad_option("max_errors needs on_error='skip' or 'collect'; under 'raise' the first "
                          "failing record ends the run");
    if (!options.errors_to.empty() && options.on_error == OnError::raise)
        return bad_option("errors_to needs on_error='skip' or 'collect'; under 'raise' the first "
                          "failing record ends the run");
    if (options.timeout_ns > 0 && options.isolation == Isolation::thread)
        return bad_option("timeout needs isolation='process': a thread cannot be ended");
    if (options.timeout_ns > 0 && workers == 0)
        return bad_option("timeout needs workers of their own, not workers=0: the calling thread "
                          "cannot be ended");
    if (options.batches_per_worker > 0 &&
        (options.isolation == Isolation::thread || workers == 0))
        return bad_option("batches_per_worker needs isolation='process' and workers: threads serve "
                          "until their engine is closed");
    if (options.memory_bytes < memory_bytes_min(workers))
        return bad_option("memory=" + std::to_string(options.memory_bytes) + " is below the " +
                          "minimum for " + std::to_string(std::max(workers, 1u)) + " workers, " +
                          std::to_string(memory_bytes_min(workers)) + " bytes");
    return {};
}

} // namespace gristmill
