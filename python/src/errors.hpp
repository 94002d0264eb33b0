// From the engine's errors to exceptions of Python.
#pragma once

#include <string>
#include <utility>

#include <gristmill/error.hpp>

namespace gristmill::python {

// Raises the exception of gristmill.errors that belongs to `error`, as pybind11's
// error_already_set. Needs the GIL.
[[noreturn]] void raise(const Error &error);

// The value, or its error raised. Needs the GIL.
template <class T>
T value_or_raise(Result<T> result) {
    if (!result.ok())
        raise(result.error());
    if constexpr (!std::is_void_v<T>)
        return std::move(result).value();
}

} // namespace gristmill::python
