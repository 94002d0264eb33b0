// The digest that manifests hold: XXH3, 128 bits.
#ifndef GRISTMILL_DATAGEN_DIGEST_HPP
#define GRISTMILL_DATAGEN_DIGEST_HPP

#include <memory>
#include <string>
#include <string_view>

namespace gristmill::datagen {

class Digest {
  public:
    Digest();
    Digest(Digest &&) noexcept;
    ~Digest();

    void add(std::string_view bytes) noexcept;

    /// Of all bytes added so far: 32 hexadecimal digits, the highest first, as xxh128sum prints.
    std::string text() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace gristmill::datagen

#endif
