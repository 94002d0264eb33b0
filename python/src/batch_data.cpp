#include "batch_data.hpp"

namespace gristmill::python {

namespace {

struct Exporter {
    PyObject_HEAD
    const std::byte *data;
    Py_ssize_t size;
    Py_ssize_t views;
};

int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    auto *exporter = reinterpret_cast<Exporter *>(self);
    if (exporter->data == nullptr) {
        PyErr_SetString(PyExc_BufferError, "the bytes of a batch are valid during its call only");
        return -1;
    }
    const int filled = PyBuffer_FillInfo(view, self, const_cast<std::byte *>(exporter->data),
                                         exporter->size, 1, flags);
    if (filled == 0)
        ++exporter->views;
    return filled;
}

void release_buffer(PyObject *self, Py_buffer *) { --reinterpret_cast<Exporter *>(self)->views; }

PyObject *views(PyObject *self, PyObject *) {
    return PyLong_FromSsize_t(reinterpret_cast<Exporter *>(self)->views);
}

PyTypeObject *exporter_type() {
    static PyMethodDef methods[] = {
        {"views", &views, METH_NOARGS, "How many views of the bytes there are."}, {}};
    static PyType_Slot slots[] = {
        {Py_bf_getbuffer, reinterpret_cast<void *>(&get_buffer)},
        {Py_bf_releasebuffer, reinterpret_cast<void *>(&release_buffer)},
        {Py_tp_methods, methods},
        {0, nullptr}};
    static PyType_Spec spec{"gristmill._core.BatchData", sizeof(Exporter), 0, Py_TPFLAGS_DEFAULT,
                            slots};
    static auto *type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    if (type == nullptr)
        throw py::error_already_set();
    return type;
}

} // namespace

BatchData::BatchData(ByteView data) {
    auto *exporter = PyObject_New(Exporter, exporter_type());
    if (exporter == nullptr)
        throw py::error_already_set();
    exporter->data = data.data();
    exporter->size = static_cast<Py_ssize_t>(data.size());
    exporter->views = 0;
    object_ = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject *>(exporter));
}

BatchData::~BatchData() { reinterpret_cast<Exporter *>(object_.ptr())->data = nullptr; }

} // namespace gristmill::python
