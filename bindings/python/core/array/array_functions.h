// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <string>

#include "ndarray/storage.h"

namespace loomix::python {

// Module functions on whole arrays: files, records, copies, storage types.
void add_array_functions(PyObject* module);

// "default", "row_sparse" or "csr"; ValueError for others.
StorageType to_storage_type(const std::string& stype);

}  // namespace loomix::python
