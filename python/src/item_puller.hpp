// Items of a Python iterable, pulled by the engine and packed as records.
#pragma once

#include <optional>
#include <string_view>

#include <pybind11/pybind11.h>

#include <gristmill/hosting.hpp>

namespace gristmill::python {

namespace py = pybind11;

// How an item, or a result, lies in its record: a mark, then its bytes.
inline constexpr char kRawItem = 0;     // the item is bytes, these
inline constexpr char kPickledItem = 1; // its pickle

// Threads: the one that called the engine, or that of an ItemPump.
class ItemPuller {
  public:
    // `iterator` is asked for no more than the engine asks for.
    explicit ItemPuller(py::object iterator) : iterator_(std::move(iterator)) {}
    ItemPuller(const ItemPuller &) = delete;
    ItemPuller &operator=(const ItemPuller &) = delete;

    ItemFeed feed();
    // The next items, as ItemFeed::pull. Needs the GIL.
    Result<ItemChunk> pull(std::uint64_t records_max, std::uint64_t bytes_max);
    // Raises what the iterator, or a pickle, raised.
    void rethrow();

  private:
    void pack(PyObject *item, ItemChunk &chunk);

    py::object iterator_;
    py::object pack_;
    std::optional<py::error_already_set> raised_;
    bool ended_ = false;
};

} // namespace gristmill::python
