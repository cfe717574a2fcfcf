// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include "symbol/executor/explanation.h"

namespace loomix::python {

// As loomix/explanation.py reads it: dicts, lists, numbers and strings.
pybind11::dict explanation_dict(const Explanation& explanation);
pybind11::dict sharing_dict(const PlannedBytes& bytes);

}  // namespace loomix::python
