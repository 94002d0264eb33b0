#include "ledger.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace gristmill::workshop {

namespace {

void copy_text(char *to, std::size_t room, const char *from) noexcept {
    const std::size_t length = std::min(std::strlen(from), room - 1);
    std::memcpy(to, from, length);
    to[length] = '\0';
}

} // namespace

Ledger &Ledger::shared() {
    static Ledger *const ledger = [] {
        void *memory = ::mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            std::perror("plugin_check: no memory");
            std::exit(2);
        }
        return new (memory) Ledger();
    }();
    return *ledger;
}

void Ledger::reset() {
    for (Entry &entry : entries_)
        entry.written.store(false);
    used_.store(0);
    complete_.store(false);
    doing_[0] = tried_[0] = '\0';
}

bool Ledger::has(const char *topic) const noexcept {
    return std::any_of(std::begin(entries_), std::end(entries_), [&](const Entry &entry) {
        return entry.written.load() && std::strcmp(entry.topic, topic) == 0;
    });
}

void Ledger::add(Verdict verdict, const char *topic, const char *text) noexcept {
    if (has(topic))
        return;
    const std::uint32_t slot = used_.fetch_add(1);
    if (slot >= room)
        return;
    Entry &entry = entries_[slot];
    entry.verdict = verdict;
    copy_text(entry.topic, sizeof entry.topic, topic);
    copy_text(entry.text, sizeof entry.text, text);
    entry.written.store(true);
}

std::vector<Finding> Ledger::findings() const {
    std::vector<Finding> found;
    for (const Entry &entry : entries_) {
        if (entry.written.load())
            found.push_back({entry.verdict, entry.topic, entry.text});
    }
    return found;
}

void Ledger::begin(const std::string &doing) {
    static std::mutex writing; // of this process; the tool reads when no writer is left
    const std::lock_guard lock(writing);
    copy_text(doing_, sizeof doing_, doing.c_str());
}

void Ledger::tried(const std::string &text) noexcept {
    copy_text(tried_, sizeof tried_, text.c_str());
}

void violation(const char *topic, const std::string &text) {
    Ledger::shared().add(Verdict::violation, topic, text.c_str());
}

void note(const char *topic, const std::string &text) {
    Ledger::shared().add(Verdict::note, topic, text.c_str());
}

} // namespace gristmill::workshop
