// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// StoreHandle: the pybind11 class of loomix::kvstore::KVStore, behind loomix.kvstore.KVStore.
void add_store_type(PyObject* module);

}  // namespace loomix::python
