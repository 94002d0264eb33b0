#include "output_record.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "ledger.hpp"
#include "words.hpp"

namespace gristmill::workshop {

namespace {

constexpr std::uint8_t front_byte = 0xc3; // before a reservation
constexpr std::size_t retired_max = 64;
constexpr std::uint64_t filled_max = 64 << 20; // of a reservation; filling takes memory
constexpr std::uint64_t reserve_max = std::uint64_t{8} << 30;

unsigned long long number(std::uint64_t value) { return value; }

} // namespace

OutputRecord::OutputRecord(const Handling &handling, std::uint64_t record_count, std::string where)
    : handling_(handling), record_count_(record_count), where_(std::move(where)) {
    std::memset(given_.later, 0xee, sizeof given_.later);
    gm_output &raw = given_.raw;
    raw.struct_size = handling.newer_host ? sizeof given_ : sizeof raw;
    raw.context = this;
    raw.reserve = &on_reserve;
    raw.commit = &on_commit;
    raw.fail_record = &on_fail;
}

OutputRecord &OutputRecord::self(gm_output *out) {
    return *static_cast<OutputRecord *>(out->context);
}

std::uint8_t *OutputRecord::on_reserve(gm_output *out, std::uint64_t bytes) {
    return self(out).reserve(bytes);
}
void OutputRecord::on_commit(gm_output *out, std::uint64_t bytes) { self(out).commit(bytes); }
void OutputRecord::on_fail(gm_output *out, std::uint64_t index, const char *reason) {
    self(out).fail(index, reason);
}

std::uint8_t *OutputRecord::reserve(std::uint64_t bytes) {
    retire_reservation();
    if (bytes > reserve_max)
        violation("reserve-size",
                  words("asks reserve() for %llu bytes of output for ", number(bytes)) + where_ +
                      "; a size computed from a negative number?");
    if (reservations_++ >= handling_.reserve_fails_from || bytes > reserve_max) {
        ran_out_ = true;
        return nullptr;
    }
    try {
        pages_ = GuardedPages(bytes);
    } catch (const std::bad_alloc &) {
        ran_out_ = true;
        return nullptr;
    }
    reserved_ = pages_.end() - bytes;
    reserved_bytes_ = last_bytes_ = bytes;
    std::memset(pages_.begin(), front_byte, static_cast<std::size_t>(reserved_ - pages_.begin()));
    std::memset(reserved_, handling_.fresh_byte, std::min(bytes, filled_max));
    return reserved_;
}

void OutputRecord::commit(std::uint64_t bytes) {
    if (bytes > reserved_bytes_) {
        violation("over-commit",
                  words("commits %llu bytes where %llu are reserved, for ", number(bytes),
                        number(reserved_bytes_)) +
                      where_ +
                      (reserved_bytes_ == 0 && last_bytes_ != 0
                           ? "; a reservation can be committed once"
                           : "; reserve as many bytes as may be written, commit what was written"));
        bytes = reserved_bytes_;
    }
    committed_.append(reinterpret_cast<const char *>(reserved_), bytes);
    reserved_bytes_ = 0;
}

void OutputRecord::fail(std::uint64_t index, const char *reason) {
    if (index >= record_count_) {
        violation("fail-index",
                  words("fail_record() names record %llu of a batch that has %llu (they "
                        "count from 0), for ",
                        number(index), number(record_count_)) +
                      where_);
    }
    const auto same = [&](const FailedRecord &failed) { return failed.index == index; };
    if (std::any_of(failures_.begin(), failures_.end(), same))
        violation("fail-twice", words("fails record %llu of the batch twice, for ", number(index)) +
                                    where_ + "; call fail_record() once per record");
    failures_.push_back({index, committed_.size()});
    if (reason != nullptr && std::strlen(reason) > 64 * 1024)
        note("long-reason", "gives fail_record() a reason of more than 64 KiB");
}

void OutputRecord::check_front() const {
    const std::uint8_t *changed = std::find_if(
        pages_.begin(), reserved_, [](std::uint8_t byte) { return byte != front_byte; });
    if (changed != reserved_)
        violation("write-before",
                  "writes " + counted(static_cast<std::uint64_t>(reserved_ - changed), "byte") +
                      " before the " + counted(last_bytes_, "byte") + " that it reserved, for " +
                      where_);
}

void OutputRecord::retire_reservation() {
    if (reserved_ == nullptr)
        return;
    check_front();
    pages_.make_forbidden();
    retired_.push_back(std::move(pages_));
    if (retired_.size() > retired_max)
        retired_.pop_front();
    pages_ = GuardedPages();
    reserved_ = nullptr;
    reserved_bytes_ = 0;
}

void OutputRecord::close() {
    retire_reservation();
    const gm_output &raw = given_.raw;
    if (raw.context != this || raw.reserve != &on_reserve || raw.commit != &on_commit ||
        raw.fail_record != &on_fail)
        violation("output-struct", "changes fields of gm_output that are the engine's, for " +
                                       where_ +
                                       "; emitted, filtered and failed alone are the plugin's");
    if (std::any_of(std::begin(given_.later), std::end(given_.later),
                    [](std::uint8_t byte) { return byte != 0xee; }))
        violation("output-struct",
                  "writes behind the fields of gm_output that it knows, for " + where_);
}

const char *OutputRecord::fault_at(const void *address, char *buffer,
                                   std::size_t room) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (pages_.is_near(address)) {
        const auto first = reinterpret_cast<std::uintptr_t>(reserved_);
        const auto end = reinterpret_cast<std::uintptr_t>(pages_.end());
        const std::uint64_t beyond = at >= end ? at - end + 1 : first - at;
        std::snprintf(
            buffer, room, "goes %llu byte%s %s the %llu byte%s that it reserved for its output",
            number(beyond), beyond == 1 ? "" : "s", at >= end ? "past the end of" : "before",
            number(last_bytes_), last_bytes_ == 1 ? "" : "s");
        return buffer;
    }
    const bool stale =
        std::any_of(retired_.begin(), retired_.end(),
                    [&](const GuardedPages &pages) { return pages.is_near(address); });
    return stale ? "uses a reservation that a later reserve() had made invalid" : nullptr;
}

} // namespace gristmill::workshop
