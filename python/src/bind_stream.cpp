// Streams: output that is taken while the run goes on.
#include "stream_handle.hpp"

#include <cstring>
#include <unistd.h>

#include "bindings.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "record/framing_rules.hpp"
#include "signals.hpp"

namespace gristmill::python {

StreamHandle::StreamHandle(const Work &work, RunOptions options, py::object progress)
    : options_(std::move(options)), work_(work, options_), progress_(std::move(progress)),
      teller_(progress_), process_(::getpid()) {
    if (!progress_.is_none())
        options_.progress = [this](const RunProgress &now) { teller_.tell(now); };
}

// Returns when the workers have the payload: what keeps it from being made is raised here.
template <class From>
void StreamHandle::open_from(Engine &engine, const From &from, bool interruptible) {
    SignalCheck signals;
    options_.interrupted = [&] { return interruptible && signals.check(); };
    Result<Stream> stream = [&] {
        const GilRelease released;
        return engine.stream(work_.payload(), from, options_);
    }();
    options_.interrupted = {};
    signals.rethrow();
    stream_ = std::make_unique<Stream>(value_or_raise(std::move(stream)));
}

void StreamHandle::open(Engine &engine, const Sources &sources, bool interruptible) {
    open_from(engine, sources, interruptible);
}

void StreamHandle::open(Engine &engine, std::shared_ptr<ItemPump> items, bool interruptible) {
    items_ = std::move(items);
    open_from(engine, items_->feed(), interruptible);
}

bool StreamHandle::next(bool interruptible) {
    exported_.reset();
    batch_.reset();
    if (!stream_)
        return false;
    SignalCheck signals;
    const auto interrupted = [&] {
        return cancelled_.load() || teller_.raised() || (interruptible && signals.check());
    };
    Result<std::optional<OutputBatch>> batch = [&] {
        const GilRelease released;
        return stream_->next(interrupted);
    }();
    signals.rethrow();
    if (work_.interrupt())
        throw py::error_already_set(*work_.interrupt());
    teller_.rethrow();
    if (items_ && !batch.ok() && batch.error().kind == ErrorKind::source)
        items_->rethrow();
    if (!batch.ok() && batch.error().kind == ErrorKind::interrupted && cancelled_.load())
        return false;
    batch_ = value_or_raise(std::move(batch));
    return batch_.has_value();
}

// Functions know where their records end; what others give is split.
template <class Visit>
void StreamHandle::for_each_record(Visit &&visit) const {
    const std::span<const std::byte> data = batch_->data;
    if (batch_->lengths.empty()) {
        for (auto r = record::record_at(data, options_.framing, 0); r;
             r = record::record_at(data, options_.framing, r->next))
            visit(data.subspan(r->begin, r->end - r->begin));
        return;
    }
    const Framing &framing = options_.framing;
    const std::size_t before =
        framing.kind == Framing::Kind::u32le ? record::kFrameHeaderBytes : 0;
    const std::size_t behind =
        framing.kind == Framing::Kind::delimiter ? framing.delimiter.size() : 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < batch_->lengths.size(); i += sizeof(std::uint32_t)) {
        std::uint32_t bytes = 0;
        std::memcpy(&bytes, batch_->lengths.data() + i, sizeof bytes);
        visit(data.subspan(at + before, bytes));
        at += before + bytes + behind;
    }
}

py::list StreamHandle::records() const {
    py::list list;
    for_each_record([&](std::span<const std::byte> record) {
        list.append(py::bytes(reinterpret_cast<const char *>(record.data()), record.size()));
    });
    return list;
}

py::list StreamHandle::objects() const {
    py::list list;
    const py::object unpack = py::module_::import("gristmill._worker").attr("unpack");
    for_each_record([&](std::span<const std::byte> record) {
        const auto *text = reinterpret_cast<const char *>(record.data());
        py::object object = py::bytes(text + 1, record.size() - 1);
        list.append(text[0] == kPickledItem ? unpack(object) : object);
    });
    return list;
}

py::object StreamHandle::view() {
    static const std::byte nothing{};
    const bool empty = batch_->data.empty();
    exported_.emplace(empty ? ByteView(&nothing, std::size_t{0}) : batch_->data);
    return exported_->object();
}

void StreamHandle::close() {
    exported_.reset();
    batch_.reset();
    if (!stream_)
        return;
    if (::getpid() != process_) {
        static_cast<void>(stream_.release());
        return;
    }
    const GilRelease released;
    if (items_)
        items_->give_up();
    stream_->close();
}

py::dict StreamHandle::report() const { return report_fields(stream_->report()); }
py::list StreamHandle::errors() const { return failures_list(stream_->errors()); }

namespace {

// Items of lists that a callable gives, one list after the other; None ends them. Unlike a chain of
// iterators it goes on where it was when the callable has raised.
struct ListWalk {
    PyObject_HEAD
    PyObject *next_list;
    PyObject *list; // in hand, or null
    Py_ssize_t at;
};

PyObject *walk_next(PyObject *self) {
    auto *walk = reinterpret_cast<ListWalk *>(self);
    while (walk->list == nullptr || walk->at == PyList_GET_SIZE(walk->list)) {
        PyObject *list = PyObject_CallNoArgs(walk->next_list);
        if (list == nullptr)
            return nullptr;
        if (!PyList_CheckExact(list)) {
            Py_DECREF(list);
            return nullptr; // the end
        }
        Py_XSETREF(walk->list, list);
        walk->at = 0;
    }
    // The list gives its item away.
    PyObject *item = PyList_GET_ITEM(walk->list, walk->at);
    Py_INCREF(Py_None);
    PyList_SET_ITEM(walk->list, walk->at++, Py_None);
    return item;
}

PyObject *walk_left(PyObject *self, PyObject *) {
    auto *walk = reinterpret_cast<ListWalk *>(self);
    return PyLong_FromSsize_t(walk->list ? PyList_GET_SIZE(walk->list) - walk->at : 0);
}

void walk_free(PyObject *self) {
    auto *walk = reinterpret_cast<ListWalk *>(self);
    PyTypeObject *type = Py_TYPE(self);
    Py_CLEAR(walk->list);
    Py_CLEAR(walk->next_list);
    type->tp_free(self);
    Py_DECREF(type);
}

PyTypeObject *walk_type() {
    static PyMethodDef methods[] = {
        {"left", &walk_left, METH_NOARGS, "Items left of the list in hand."}, {}};
    static PyType_Slot slots[] = {{Py_tp_iter, reinterpret_cast<void *>(&PyObject_SelfIter)},
                                  {Py_tp_iternext, reinterpret_cast<void *>(&walk_next)},
                                  {Py_tp_dealloc, reinterpret_cast<void *>(&walk_free)},
                                  {Py_tp_methods, methods},
                                  {0, nullptr}};
    static PyType_Spec spec{"gristmill._core.ListWalk", sizeof(ListWalk), 0, Py_TPFLAGS_DEFAULT,
                            slots};
    static auto *type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    if (type == nullptr)
        throw py::error_already_set();
    return type;
}

py::object walk_lists(py::object next_list) {
    auto *walk = PyObject_New(ListWalk, walk_type());
    if (walk == nullptr)
        throw py::error_already_set();
    walk->next_list = next_list.release().ptr();
    walk->list = nullptr;
    walk->at = 0;
    return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject *>(walk));
}

} // namespace

void bind_stream(py::module_ &module) {
    using namespace py::literals;
    module.def("walk_lists", &walk_lists, "next_list"_a);
    py::class_<ItemPump, std::shared_ptr<ItemPump>>(module, "ItemPump")
        .def(py::init<py::object>(), "iterator"_a)
        .def("serve", &ItemPump::serve)
        .def("give_up", &ItemPump::give_up);
    py::class_<StreamHandle>(module, "Stream")
        .def("next", &StreamHandle::next, "interruptible"_a)
        .def("records", &StreamHandle::records)
        .def("objects", &StreamHandle::objects)
        .def("view", &StreamHandle::view)
        .def("cancel", &StreamHandle::cancel)
        .def("close", &StreamHandle::close)
        .def("report", &StreamHandle::report)
        .def("errors", &StreamHandle::errors);
}

} // namespace gristmill::python
