// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/cpp.h"
#include "mxnet-cpp/logging.h"
#include "mxnet/c_api.h"

// For programs written for MXNet's cpp-package.
namespace mxnet {
namespace cpp = loomix::cpp::names;
}

namespace dmlc {
template <class T>
using optional = std::optional<T>;
using Error = loomix::cpp::Error;
}  // namespace dmlc

using loomix::cpp::mx_float;
using loomix::cpp::mx_uint;
