// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// Adds the type RecordFiles, the base of mx.recordio.RecordFiles: the records of several files, or a part of them.
void add_record_files(PyObject* module);

}  // namespace loomix::python
