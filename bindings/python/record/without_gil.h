// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// Without the GIL while it lives; the work in between runs longer than taking it back costs.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(thread_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* thread_;
};

}  // namespace loomix::python
