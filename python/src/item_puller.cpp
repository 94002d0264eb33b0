#include "item_puller.hpp"

#include <limits>

namespace gristmill::python {

namespace {

void add_frame(std::string &frames, char mark, std::string_view bytes) {
    const std::uint64_t length = bytes.size() + 1;
    if (length > std::numeric_limits<std::uint32_t>::max())
        throw py::value_error("an item of more than 4 GiB cannot be sent to a worker");
    for (int i = 0; i < 4; ++i)
        frames.push_back(static_cast<char>(length >> (8 * i)));
    frames.push_back(mark);
    frames.append(bytes);
}

} // namespace

ItemFeed ItemPuller::feed() {
    ItemFeed feed;
    feed.pull = [this](std::uint64_t records_max, std::uint64_t bytes_max) {
        const py::gil_scoped_acquire gil;
        return pull(records_max, bytes_max);
    };
    return feed;
}

void ItemPuller::rethrow() {
    if (raised_)
        throw py::error_already_set(*raised_);
}

// What was pulled before an exception still goes its way; the exception comes at the next call.
Result<ItemChunk> ItemPuller::pull(std::uint64_t records_max, std::uint64_t bytes_max) {
    ItemChunk chunk;
    try {
        while (!raised_ && !ended_ && chunk.records < records_max &&
               (chunk.records == 0 || chunk.frames.size() < bytes_max)) {
            const auto item = py::reinterpret_steal<py::object>(PyIter_Next(iterator_.ptr()));
            if (item)
                pack(item.ptr(), chunk);
            else if (PyErr_Occurred())
                throw py::error_already_set();
            else
                ended_ = true;
        }
    } catch (const py::error_already_set &error) {
        raised_.emplace(error);
    } catch (const py::builtin_exception &error) {
        error.set_error();
        raised_.emplace();
    }
    if (raised_ && chunk.records == 0)
        return Error{ErrorKind::source, "the items end with an exception of their own"};
    chunk.end = ended_;
    return chunk;
}

void ItemPuller::pack(PyObject *item, ItemChunk &chunk) {
    if (PyBytes_CheckExact(item)) {
        add_frame(chunk.frames, kRawItem,
                  {PyBytes_AS_STRING(item), static_cast<std::size_t>(PyBytes_GET_SIZE(item))});
    } else {
        if (!pack_)
            pack_ = py::module_::import("gristmill._worker").attr("pack");
        const auto pickled = pack_(py::handle(item)).cast<py::bytes>();
        add_frame(chunk.frames, kPickledItem, std::string_view(pickled));
    }
    ++chunk.records;
}

} // namespace gristmill::python
