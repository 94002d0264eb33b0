// Words of at most 15 bytes as numbers, and a hash table of them.
#ifndef GRISTMILL_PLUGINS_SHORT_WORDS_HPP
#define GRISTMILL_PLUGINS_SHORT_WORDS_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gristmill::text {

/// A word and its size as two numbers to compare: the bytes, zeros, and the size in the last byte.
struct ShortWord {
    static constexpr std::size_t bytes_max = 15;

    std::uint64_t low = 0;
    std::uint64_t high = 0;

    /// Reads 16 bytes at `word`, of which it has at most 15.
    static ShortWord of(std::string_view word) noexcept {
        static constexpr std::uint64_t kept_or_not[4] = {~std::uint64_t{0}, ~std::uint64_t{0}, 0,
                                                         0};
        const char *const kept =
            reinterpret_cast<const char *>(kept_or_not) + sizeof(ShortWord) - word.size();
        return {load(word.data()) & load(kept),
                (load(word.data() + 8) & load(kept + 8)) | std::uint64_t{word.size()} << 56};
    }

    std::uint64_t hash() const noexcept { return XXH3_64bits(this, sizeof *this); }

    bool operator==(const ShortWord &) const = default;

  private:
    static std::uint64_t load(const char *at) noexcept {
        std::uint64_t bytes;
        std::memcpy(&bytes, at, sizeof bytes);
        return bytes;
    }
};

/// Numbers by words: an open hash table.
class ShortWordTable {
  public:
    using Value = std::uint32_t;
    static constexpr Value none = UINT32_MAX;

    ShortWordTable() : ShortWordTable(slots_min) {}

    /// Forgets all and gives memory back.
    void clear() { *this = ShortWordTable(); }

    std::size_t size() const noexcept { return used_; }

    /// The value of `word`; none if it is not there.
    Value find(const ShortWord &word) const noexcept { return slots_[place_of(word)].value; }

    /// Adds a word that is not there yet, with a value other than none. Throws std::bad_alloc,
    /// then without effect.
    void add(const ShortWord &word, Value value) {
        if (2 * (used_ + 1) > slots_.size())
            grow();
        slots_[place_of(word)] = {word, value};
        ++used_;
    }

  private:
    struct Slot {
        ShortWord word;
        Value value = none;
    };

    static constexpr std::size_t slots_min = 4096; // a power of two, as are all sizes

    explicit ShortWordTable(std::size_t slots) : slots_(slots), place_mask_(slots - 1) {}

    /// Where `word` stands, or the free slot where it would.
    std::size_t place_of(const ShortWord &word) const noexcept {
        std::size_t at = word.hash() & place_mask_;
        while (slots_[at].word != word && slots_[at].value != none)
            at = (at + 1) & place_mask_;
        return at;
    }

    void grow() {
        ShortWordTable larger(2 * slots_.size());
        for (const Slot &slot : slots_) {
            if (slot.value != none)
                larger.add(slot.word, slot.value);
        }
        *this = std::move(larger);
    }

    std::vector<Slot> slots_;
    std::size_t place_mask_;
    std::size_t used_ = 0;
};

} // namespace gristmill::text

#endif
