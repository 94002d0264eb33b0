// Memory that records are printed into.
#ifndef GRISTMILL_DATAGEN_RECORD_BUFFER_HPP
#define GRISTMILL_DATAGEN_RECORD_BUFFER_HPP

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace gristmill::datagen {

/// Grows as needed, and keeps what it has for the next use. New memory is not cleared, as that of a
/// std::string would be.
class RecordBuffer {
  public:
    /// Where the next text goes, with room for `bytes`.
    char *room(std::size_t bytes) {
        if (capacity_ - size_ < bytes)
            grow(bytes);
        return memory_.get() + size_;
    }

    /// The text put into the room ends here.
    void end_at(const char *end) noexcept { size_ = static_cast<std::size_t>(end - memory_.get()); }

    std::string_view bytes() const noexcept { return {memory_.get(), size_}; }
    void clear() noexcept { size_ = 0; }

  private:
    void grow(std::size_t bytes) {
        const std::size_t capacity = std::max(2 * capacity_, size_ + bytes);
        auto memory = std::make_unique_for_overwrite<char[]>(capacity);
        if (size_ > 0)
            std::memcpy(memory.get(), memory_.get(), size_);
        memory_ = std::move(memory);
        capacity_ = capacity;
    }

    std::unique_ptr<char[]> memory_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

} // namespace gristmill::datagen

#endif
