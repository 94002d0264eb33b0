#include "output/sink.hpp"

#include "base/bytes.hpp"
#include "os/memory.hpp"

namespace gristmill::output {

namespace {

// Small collections are not worth asking the kernel how much memory there is.
constexpr std::uint64_t kAskBeyondBytes = 64 * kMiB;
constexpr std::uint64_t kLeaveFreeBytes = 64 * kMiB;

} // namespace

Result<void> CollectSink::deliver(const RetiredBatch &batch) {
    if (batch.read > 0)
        ends_without_delimiter_ = batch.delimiter_added && batch.last_record_gave;
    if (batch.output.data.empty() && batch.output.lengths.empty())
        return {};
    batches_.push_back(batch.output);
    collected_bytes_ += batch.output.data.size() + batch.output.lengths.size();
    if (collected_bytes_ < kAskBeyondBytes)
        return {};
    // Asked again each time the collection has used half of what there was.
    if (available_bytes_ == 0 || collected_bytes_ > available_bytes_) {
        const std::uint64_t available = os::available_memory_bytes();
        if (available < kLeaveFreeBytes) {
            Error error;
            error.kind = ErrorKind::memory;
            error.message = "map() has collected " + std::to_string(collected_bytes_) +
                            " bytes of results and the machine has no memory for more; write "
                            "them to a file with gm.run(output=...) or take them as they come "
                            "with gm.stream()";
            return error;
        }
        available_bytes_ = collected_bytes_ + available / 2;
    }
    return {};
}

Result<void> FileSink::deliver(const RetiredBatch &batch) {
    if (batch.read > 0 && delimiter_held_back_) {
        delimiter_held_back_ = false;
        if (Result<void> written = file_.write(bytes_of(framing_.delimiter)); !written)
            return written;
    }
    std::span<const std::byte> data = batch.output.data;
    delimiter_held_back_ = delimiter_held_back_ || batch.output.ends_open;
    if (order_ == Order::index && batch.delimiter_added && batch.last_record_gave) {
        delimiter_held_back_ = true;
        data = data.first(data.size() - framing_.delimiter.size());
    }
    return file_.write(data);
}

} // namespace gristmill::output
