// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// CachedGraph: the pybind11 class of loomix::CachedGraph, behind hybridized blocks.
void add_cached_graph_type(PyObject* module);

}  // namespace loomix::python
