// Compressing a file while it is written, and reading it back.
#ifndef GRISTMILL_DATAGEN_COMPRESSION_HPP
#define GRISTMILL_DATAGEN_COMPRESSION_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "record_sets.hpp"

namespace gristmill::datagen {

/// Makes one zstd frame or gzip member. What it makes of the same bytes is always the same.
class Compressor {
  public:
    virtual ~Compressor() = default;

    /// Appends to `packed` what is ready of `bytes` and those before; all of it when `last`.
    virtual void add(std::string_view bytes, bool last, std::string &packed) = 0;
};

class Decompressor {
  public:
    using Take = std::function<void(std::string_view bytes)>;

    virtual ~Decompressor() = default;

    /// Gives `take` what the next bytes of the file stand for. Returns false if they cannot be
    /// such.
    virtual bool add(std::string_view packed, const Take &take) = 0;

    /// Whether the file may end here.
    virtual bool complete() const noexcept = 0;
};

/// `threads`: how many may compress, at least 1; used by zstd.
std::unique_ptr<Compressor> make_compressor(Compression compression, std::uint32_t threads);
std::unique_ptr<Decompressor> make_decompressor(Compression compression);

} // namespace gristmill::datagen

#endif
