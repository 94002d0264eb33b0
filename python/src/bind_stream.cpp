// Streams: output that is taken while the run goes on.
#include "stream_handle.hpp"

#include <cstring>

#include "bindings.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "record/framing_rules.hpp"
#include "signals.hpp"

namespace gristmill::python {

StreamHandle::StreamHandle(const Work &work, RunOptions options, py::object progress)
    : options_(std::move(options)), work_(work, options_), progress_(std::move(progress)),
      teller_(progress_) {
    if (!progress_.is_none())
        options_.progress = [this](const RunProgress &now) { teller_.tell(now); };
}

void StreamHandle::open(Engine &engine, const Sources &sources) {
    Result<Stream> stream = [&] {
        const py::gil_scoped_release released;
        return engine.stream(work_.payload(), sources, options_);
    }();
    stream_.emplace(value_or_raise(std::move(stream)));
}

void StreamHandle::open(Engine &engine, std::shared_ptr<ItemPump> items) {
    items_ = std::move(items);
    Result<Stream> stream = [&] {
        const py::gil_scoped_release released;
        return engine.stream(work_.payload(), items_->feed(), options_);
    }();
    stream_.emplace(value_or_raise(std::move(stream)));
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
        const py::gil_scoped_release released;
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
    const py::gil_scoped_release released;
    if (items_)
        items_->give_up();
    stream_->close();
}

py::dict StreamHandle::report() const { return report_fields(stream_->report()); }
py::list StreamHandle::errors() const { return failures_list(stream_->errors()); }

void bind_stream(py::module_ &module) {
    using namespace py::literals;
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
