// gristmill._core: the engine for Python. Private; the package around it is the face.
#include <pybind11/pybind11.h>

#include <gristmill/engine.hpp>

#include "bindings.hpp"

PYBIND11_MODULE(_core, module) {
    module.doc() = "The compiled core of gristmill. Private: use the package.";
    module.attr("__version__") = gristmill::version();
    gristmill::python::bind_options(module);
    gristmill::python::bind_results(module);
    gristmill::python::bind_stream(module);
    gristmill::python::bind_engine(module);
    gristmill::python::bind_topology(module);
    gristmill::python::bind_datagen(module);
    gristmill::python::bind_worker(module);
}
