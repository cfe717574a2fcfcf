// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include "symbol/symbol.h"

namespace loomix::python {

// Python's Symbol holds a SymbolHandle, the pybind11 class of loomix::Symbol, in its attribute `handle`.
void add_symbol_type(PyObject* module);

bool is_symbol(PyObject* object);
const Symbol& symbol_of(PyObject* object);  // is_symbol(object)
// A new Python Symbol, or one of a class derived from it.
PyObject* wrap(Symbol symbol, PyTypeObject* type = nullptr);

PyTypeObject* numpy_symbol_class();  // that of mx.sym.np; null until it is there

// A dict of str to str, or None; throws TypeError naming `who`.
TextPairs to_text_pairs(PyObject* dict, const char* who);

}  // namespace loomix::python
