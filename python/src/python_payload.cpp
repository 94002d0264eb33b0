#include "python_payload.hpp"

#include <cstring>
#include <limits>
#include <utility>

#include "batch_data.hpp"
#include "item_puller.hpp"
#include "os/process.hpp"
#include "record/framing_rules.hpp"
#include "record_writer.hpp"

namespace gristmill::python {

namespace {

// What the Python side says of an exception: class, words, traceback, and itself, pickled.
record::FailureNote describe(const py::object &worker_module, PyObject *exception) {
    record::FailureNote note;
    try {
        const py::tuple told = worker_module.attr("describe")(py::handle(exception));
        note.type = told[0].cast<std::string>();
        note.reason = told[1].cast<std::string>();
        note.details = told[2].cast<std::string>();
        note.original = told[3].cast<std::string>();
    } catch (const py::error_already_set &) {
        note.type = Py_TYPE(exception)->tp_name;
        note.reason = "(an exception that cannot be described)";
    }
    return note;
}

// The exception that is set, and no longer is.
py::object take_exception() {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
        PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return py::reinterpret_steal<py::object>(value);
}

// The exception that was caught, which knows where it was raised.
py::object with_traceback(const py::error_already_set &error) {
    if (error.trace())
        PyException_SetTraceback(error.value().ptr(), error.trace().ptr());
    return error.value();
}

enum class Given : std::uint8_t { emitted, filtered, failed };

// Common to functions of records and of batches: what they return, and what becomes of it.
class PythonPayload : public work::Payload {
  public:
    PythonPayload(const py::object &made, py::object worker_module, const Framing &framing,
                  const work::WorkerSignals &signals, Interrupt *interrupt)
        : interrupt_(interrupt), worker_module_(std::move(worker_module)), function_(made.attr("call")),
          close_(made.attr("close")), retried_(made.attr("retry_exceptions")),
          retries_(made.attr("retries").cast<std::uint32_t>()),
          blank_(made.attr("blank").cast<bool>()), signals_(signals), writer_(framing) {}
    PythonPayload(const PythonPayload &) = delete;
    PythonPayload &operator=(const PythonPayload &) = delete;

    ~PythonPayload() override {
        const py::gil_scoped_acquire gil;
        try {
            close_();
        } catch (py::error_already_set &error) {
            error.discard_as_unraisable("closing a gristmill payload");
        }
        worker_module_.release().dec_ref();
        function_.release().dec_ref();
        close_.release().dec_ref();
        retried_.release().dec_ref();
    }

    bool add_lengths(std::vector<std::uint32_t> &lengths) const override {
        lengths.insert(lengths.end(), writer_.lengths().begin(), writer_.lengths().end());
        return knows_lengths_;
    }

    void stand_in_for_failed(store::OutputArea &output) override {
        writer_.begin(output, 0);
        if (blank_)
            writer_.add({});
        writer_.finish();
        knows_lengths_ = true;
    }

  protected:
    // Takes what the function returned for record `index`; steals the reference. Null: it raised.
    Given take(std::uint64_t index, PyObject *returned, work::FailureListener &failures) {
        if (returned == nullptr)
            return fail(index, take_exception(), failures);
        const auto held = py::reinterpret_steal<py::object>(returned);
        if (returned == Py_None) {
            if (blank_)
                writer_.add({});
            return Given::filtered;
        }
        if (PyBytes_CheckExact(returned))
            return add(index, {PyBytes_AS_STRING(returned), std::size_t(PyBytes_GET_SIZE(returned))},
                       failures);
        return take_unusual(index, held, failures);
    }

    Given add(std::uint64_t index, std::string_view record, work::FailureListener &failures) {
        if (record.size() > RecordWriter::kRecordBytesMax)
            return fail(index, made("too_long", function_, record.size()), failures);
        writer_.add(record);
        return Given::emitted;
    }

    Given fail(std::uint64_t index, const py::object &exception, work::FailureListener &failures) {
        note_interrupt(exception);
        if (failures.wants_note(index)) {
            writer_.finish(); // the note tells what stands before it
            failures.record_failed(index, describe(worker_module_, exception.ptr()));
        }
        if (blank_)
            writer_.add({});
        return Given::failed;
    }

    // In the calling thread, Ctrl-C is meant for the run, not for the record in hand.
    void note_interrupt(const py::object &exception) {
        if (interrupt_ && !*interrupt_ &&
            PyErr_GivenExceptionMatches(exception.ptr(), PyExc_KeyboardInterrupt)) {
            PyErr_SetObject(PyExc_KeyboardInterrupt, exception.ptr());
            interrupt_->emplace();
        }
    }
    bool interrupted() const { return interrupt_ && *interrupt_; }

    // An exception that the worker module makes, or whatever that raises.
    template <class... Arguments>
    py::object made(const char *name, Arguments &&...arguments) const {
        try {
            return worker_module_.attr(name)(std::forward<Arguments>(arguments)...);
        } catch (py::error_already_set &error) {
            return with_traceback(error);
        }
    }

    work::PayloadOutcome failed_batch(const py::object &exception, bool worth_a_retry) const {
        record::FailureNote note = describe(worker_module_, exception.ptr());
        work::PayloadOutcome outcome;
        outcome.batch_failed = true;
        outcome.worth_a_retry = worth_a_retry;
        outcome.type = std::move(note.type);
        outcome.reason = std::move(note.reason);
        outcome.details = std::move(note.details);
        return outcome;
    }

    Interrupt *const interrupt_;
    py::object worker_module_;
    py::object function_;
    py::object close_;
    py::object retried_; // an exception class or a tuple of them, or None
    const std::uint32_t retries_;
    const bool blank_;
    const work::WorkerSignals signals_;
    RecordWriter writer_;
    bool knows_lengths_ = true;

  private:
    Given take_unusual(std::uint64_t index, const py::object &returned,
                       work::FailureListener &failures) {
        if (PyUnicode_Check(returned.ptr())) {
            Py_ssize_t size = 0;
            const char *text = PyUnicode_AsUTF8AndSize(returned.ptr(), &size);
            if (text == nullptr)
                return fail(index, take_exception(), failures);
            return add(index, {text, std::size_t(size)}, failures);
        }
        const bool bytes_like = PyBytes_Check(returned.ptr()) ||
                                PyByteArray_Check(returned.ptr()) ||
                                PyMemoryView_Check(returned.ptr());
        Py_buffer view;
        if (bytes_like && PyObject_GetBuffer(returned.ptr(), &view, PyBUF_CONTIG_RO) == 0) {
            const Given given = add(
                index, {static_cast<const char *>(view.buf), std::size_t(view.len)}, failures);
            PyBuffer_Release(&view);
            return given;
        }
        PyErr_Clear();
        if (PyMemoryView_Check(returned.ptr())) { // one that is not contiguous
            if (const auto copy =
                    py::reinterpret_steal<py::object>(PyBytes_FromObject(returned.ptr())))
                return take(index, py::object(copy).release().ptr(), failures);
            return fail(index, take_exception(), failures);
        }
        return fail(index, made("wrong_return", function_, returned), failures);
    }
};

void count(Given given, work::PayloadOutcome &outcome) {
    switch (given) {
    case Given::emitted:
        ++outcome.emitted;
        break;
    case Given::filtered:
        ++outcome.filtered;
        break;
    case Given::failed:
        ++outcome.failed;
        break;
    }
}

work::PayloadOutcome out_of_memory() {
    work::PayloadOutcome outcome;
    outcome.batch_failed = true;
    outcome.reason = "there is no memory for the output";
    return outcome;
}

// A function of one record: the interpreter runs nothing but it.
class RecordPayload final : public PythonPayload {
  public:
    RecordPayload(const py::object &made, py::object worker_module, const Framing &framing,
                  const work::WorkerSignals &signals, Interrupt *interrupt)
        : PythonPayload(made, std::move(worker_module), framing, signals, interrupt), framing_(framing) {}

    work::PayloadOutcome process(const work::PayloadBatch &batch, store::OutputArea &output,
                                 work::FailureListener &failures) override {
        const py::gil_scoped_acquire gil;
        work::PayloadOutcome outcome;
        writer_.begin(output, batch.data.size());
        std::uint64_t index = 0;
        const std::uint32_t forks = os::fork_count();
        for (auto r = record::record_at(batch.data, framing_, 0); r;
             r = record::record_at(batch.data, framing_, r->next)) {
            PyObject *returned =
                call(batch.data.subspan(r->begin, r->end - r->begin));
            count(take(index++, returned, failures), outcome);
            if (os::fork_count() != forks)
                os::leave(0); // a copy of the worker, that the function has made and let return
            signals_.progress.fetch_add(2);
            if (signals_.cancelled.load() != 0 || interrupted())
                return given_up();
            if (writer_.out_of_memory())
                return out_of_memory();
        }
        writer_.finish();
        return outcome;
    }

  private:
    PyObject *call(ByteView data) {
        PyObject *record = PyBytes_FromStringAndSize(reinterpret_cast<const char *>(data.data()),
                                                     static_cast<Py_ssize_t>(data.size()));
        if (record == nullptr)
            return nullptr;
        PyObject *arguments[2] = {nullptr, record};
        PyObject *returned = PyObject_Vectorcall(
            function_.ptr(), arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
        for (std::uint32_t tries = 0; returned == nullptr && tries < retries_ && may_retry();
             ++tries) {
            PyErr_Clear();
            returned = PyObject_Vectorcall(function_.ptr(), arguments + 1,
                                           1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
        }
        Py_DECREF(record);
        return returned;
    }

    bool may_retry() const {
        return !retried_.is_none() && PyErr_ExceptionMatches(retried_.ptr());
    }

    static work::PayloadOutcome given_up() {
        work::PayloadOutcome outcome;
        outcome.batch_failed = true;
        outcome.reason = "the run was given up";
        return outcome;
    }

    const Framing &framing_;
};

// A function of one item: gets the object that the caller's iterable gave, returns any other.
class ItemPayload final : public PythonPayload {
  public:
    ItemPayload(const py::object &made, py::object worker_module, const Framing &framing,
                const work::WorkerSignals &signals, Interrupt *interrupt)
        : PythonPayload(made, std::move(worker_module), framing, signals, interrupt), framing_(framing) {
        // None is a result like any other, unless it is to be left out; a failed item leaves one.
        keeps_none_ = made.attr("keeps_none").cast<bool>();
        none_ = worker_module_.attr("pack")(py::none()).cast<std::string>();
    }

    work::PayloadOutcome process(const work::PayloadBatch &batch, store::OutputArea &output,
                                 work::FailureListener &failures) override {
        const py::gil_scoped_acquire gil;
        work::PayloadOutcome outcome;
        writer_.begin(output, batch.data.size());
        std::uint64_t index = 0;
        const std::uint32_t forks = os::fork_count();
        for (auto r = record::record_at(batch.data, framing_, 0); r;
             r = record::record_at(batch.data, framing_, r->next)) {
            count(take_item(index++, text_of(batch.data.subspan(r->begin, r->end - r->begin)),
                            failures),
                  outcome);
            if (os::fork_count() != forks)
                os::leave(0);
            signals_.progress.fetch_add(2);
            if (signals_.cancelled.load() != 0 || interrupted() || writer_.out_of_memory())
                return out_of_memory();
        }
        writer_.finish();
        return outcome;
    }

    void stand_in_for_failed(store::OutputArea &output) override {
        writer_.begin(output, 0);
        add_none();
        writer_.finish();
    }

  private:
    void add_none() {
        if (keeps_none_)
            writer_.add({&kPickledItem, 1}, none_);
    }

    Given take_item(std::uint64_t index, std::string_view record,
                    work::FailureListener &failures) {
        try {
            py::object item = py::bytes(record.data() + 1, record.size() - 1);
            if (record[0] == kPickledItem)
                item = worker_module_.attr("unpack")(item);
            const py::object returned = call(item);
            if (returned.is_none() && !keeps_none_)
                return Given::filtered;
            const bool raw = PyBytes_CheckExact(returned.ptr());
            const py::bytes packed = raw ? returned : worker_module_.attr("pack")(returned);
            const std::string_view bytes(packed);
            if (bytes.size() >= RecordWriter::kRecordBytesMax)
                return fail_item(index, made("too_long", function_, bytes.size()), failures);
            writer_.add({raw ? &kRawItem : &kPickledItem, 1}, bytes);
            return Given::emitted;
        } catch (py::error_already_set &error) {
            return fail_item(index, with_traceback(error), failures);
        }
    }

    Given fail_item(std::uint64_t index, const py::object &exception,
                    work::FailureListener &failures) {
        note_interrupt(exception);
        if (failures.wants_note(index)) {
            writer_.finish();
            failures.record_failed(index, describe(worker_module_, exception.ptr()));
        }
        add_none();
        return Given::failed;
    }

    py::object call(const py::object &item) {
        for (std::uint32_t tries = 0;; ++tries) {
            try {
                return function_(item);
            } catch (py::error_already_set &error) {
                if (tries == retries_ || retried_.is_none() || !error.matches(retried_))
                    throw;
            }
        }
    }

    const Framing &framing_;
    bool keeps_none_ = true;
    std::string none_; // pickled
};

// A function of a whole batch: gets a gristmill.Batch, returns bytes, or a list with one item per
// record.
class BatchPayload final : public PythonPayload {
  public:
    using PythonPayload::PythonPayload;

    work::PayloadOutcome process(const work::PayloadBatch &batch, store::OutputArea &output,
                                 work::FailureListener &failures) override {
        const py::gil_scoped_acquire gil;
        writer_.begin(output, batch.data.size());
        try {
            const BatchData data(batch.data);
            const py::object returned =
                worker_module_.attr("call_batch")(function_, data.object(), batch.record_count,
                                                  batch.sequence, batch.byte_offset);
            return take_result(returned, batch, failures);
        } catch (py::error_already_set &error) {
            const py::object exception = with_traceback(error);
            note_interrupt(exception);
            return failed_batch(exception, !interrupted());
        }
    }

    bool wants_whole_batches() const override { return true; }

  private:
    work::PayloadOutcome take_result(const py::object &returned, const work::PayloadBatch &batch,
                                     work::FailureListener &failures) {
        work::PayloadOutcome outcome;
        knows_lengths_ = PyList_Check(returned.ptr());
        if (!knows_lengths_) {
            Py_buffer view;
            if (PyObject_GetBuffer(returned.ptr(), &view, PyBUF_CONTIG_RO) != 0)
                throw py::error_already_set();
            writer_.add_whole({static_cast<const char *>(view.buf), std::size_t(view.len)});
            PyBuffer_Release(&view);
            outcome.emitted = batch.record_count;
        } else {
            for (std::uint64_t i = 0; i < batch.record_count; ++i) {
                PyObject *item = PyList_GET_ITEM(returned.ptr(), static_cast<Py_ssize_t>(i));
                Py_INCREF(item);
                const Given given = take(i, item, failures);
                count(given, outcome);
                outcome.last_gave = given == Given::emitted && writer_.lengths().back() > 0;
            }
        }
        if (writer_.out_of_memory())
            return out_of_memory();
        writer_.finish();
        return outcome;
    }
};

} // namespace

Result<std::unique_ptr<work::Payload>> PythonFactory::make(const work::WorkerIdentity &identity,
                                                           const work::WorkerSignals &signals) {
    const py::gil_scoped_acquire gil;
    try {
        py::object module = py::module_::import("gristmill._worker");
        py::list texts;
        for (const std::string &text : texts_)
            texts.append(py::bytes(text));
        const py::object made = module.attr("make")(texts, identity.worker, identity.incarnation);
        if (made.attr("items").cast<bool>())
            return std::unique_ptr<work::Payload>(
                std::make_unique<ItemPayload>(made, module, framing_, signals, interrupt_));
        if (made.attr("whole_batches").cast<bool>())
            return std::unique_ptr<work::Payload>(
                std::make_unique<BatchPayload>(made, module, framing_, signals, interrupt_));
        return std::unique_ptr<work::Payload>(
            std::make_unique<RecordPayload>(made, module, framing_, signals, interrupt_));
    } catch (py::error_already_set &error) {
        const record::FailureNote note =
            describe(py::module_::import("gristmill._worker"), with_traceback(error).ptr());
        Error failed;
        failed.kind = ErrorKind::plugin;
        failed.message =
            "a worker cannot make its payload: " + note.reason + "\n" + note.details;
        return failed;
    }
}

} // namespace gristmill::python
