// Exceptions end at the surface of the library.
#ifndef GRISTMILL_DATAGEN_GUARDED_HPP
#define GRISTMILL_DATAGEN_GUARDED_HPP

#include <cerrno>
#include <exception>
#include <new>
#include <optional>

#include "generate.hpp"

namespace gristmill::datagen {

/// Runs `body`, which returns an error or none, and turns an exception into an error.
template <class Body>
std::optional<GenerateError> guarded(Body &&body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return GenerateError{{}, ENOMEM};
    } catch (const std::exception &error) {
        return GenerateError{error.what(), 0};
    } catch (...) {
        return GenerateError{{}, 0};
    }
}

} // namespace gristmill::datagen

#endif
