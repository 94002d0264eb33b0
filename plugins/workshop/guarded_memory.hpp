// Memory in which a step beyond the end does not go unseen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gristmill::workshop {

/// Whole pages between two stretches of memory that nobody may touch.
class GuardedPages {
  public:
    GuardedPages() = default;
    /// Readable and writable room for at least `bytes` bytes; throws std::bad_alloc.
    explicit GuardedPages(std::uint64_t bytes);
    GuardedPages(GuardedPages &&other) noexcept;
    GuardedPages &operator=(GuardedPages &&other) noexcept;
    ~GuardedPages();

    std::uint8_t *begin() const noexcept { return begin_; }
    std::uint8_t *end() const noexcept { return begin_ + bytes_; }
    std::uint64_t bytes() const noexcept { return bytes_; }
    /// True for an address in the pages or in the guards beside them.
    bool is_near(const void *address) const noexcept;

    void make_writable() const;
    void make_readable() const;
    void make_forbidden() const;

  private:
    void protect(int rights) const;

    std::uint8_t *begin_ = nullptr;
    std::uint64_t bytes_ = 0; // between the guards
};

/// On which side of the data the guard follows at once; the other side has it on the same page.
enum class Placement { end_guarded, begin_guarded };

/// A batch's bytes as a plugin sees them: read-only, with GM_BATCH_PADDING bytes behind them and
/// nothing readable behind those.
class InputBlock {
  public:
    /// Copies `data`, fills the padding with `padding`. The bytes stay until the next place().
    const std::uint8_t *place(std::string_view data, Placement placement, std::uint8_t padding);

    const std::uint8_t *data() const noexcept { return data_; }
    std::uint64_t size() const noexcept { return size_; }
    bool is_near(const void *address) const noexcept { return pages_.is_near(address); }

  private:
    GuardedPages pages_;
    const std::uint8_t *data_ = nullptr;
    std::uint64_t size_ = 0;
};

} // namespace gristmill::workshop
