// The bytes of a batch as an object of Python, for the time of one call.
#pragma once

#include <pybind11/pybind11.h>

#include "base/bytes.hpp"

namespace gristmill::python {

namespace py = pybind11;

// An object with the buffer protocol that knows how many views of it there are
// (`object.views()`). Once this is destroyed, it gives no further ones; whoever still has one
// would see other bytes, so the caller has to look.
//
// Threads: needs the GIL.
class BatchData {
  public:
    explicit BatchData(ByteView data);
    BatchData(const BatchData &) = delete;
    BatchData &operator=(const BatchData &) = delete;
    ~BatchData();

    const py::object &object() const { return object_; }

  private:
    py::object object_;
};

} // namespace gristmill::python
