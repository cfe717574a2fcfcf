// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

namespace loomix::python {

// A place in Python code: a code object, kept alive for good, and an instruction's offset. Remembering it costs a
// few tens of nanoseconds; file and line are worked out only when somebody asks.
struct SourceLine {
  PyCodeObject* code = nullptr;
  int32_t offset = 0;
};

// The line that runs now, outside of the package itself if there is one. Needs the GIL.
SourceLine current_line() noexcept;

// "train.py:12, in main"; empty for no line. Takes the GIL, on any thread.
std::string line_text(SourceLine line);

}  // namespace loomix::python
