// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// Adds the type RecordFile, the base of mx.recordio.MXRecordIO: a record file open for reading or for writing.
void add_record_file(PyObject* module);

}  // namespace loomix::python
