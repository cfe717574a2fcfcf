// SPDX-License-Identifier: Apache-2.0
#pragma once

// All of the C++ interface.
#include "loomix/cpp/autograd.h"     // IWYU pragma: export
#include "loomix/cpp/executor.h"     // IWYU pragma: export
#include "loomix/cpp/initializer.h"  // IWYU pragma: export
#include "loomix/cpp/io.h"           // IWYU pragma: export
#include "loomix/cpp/kvstore.h"      // IWYU pragma: export
#include "loomix/cpp/metric.h"       // IWYU pragma: export
#include "loomix/cpp/model.h"        // IWYU pragma: export
#include "loomix/cpp/monitor.h"      // IWYU pragma: export
#include "loomix/cpp/op.h"           // IWYU pragma: export
#include "loomix/cpp/op_more.h"      // IWYU pragma: export
#include "loomix/cpp/operator.h"     // IWYU pragma: export
#include "loomix/cpp/predictor.h"    // IWYU pragma: export
