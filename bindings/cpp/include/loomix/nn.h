// SPDX-License-Identifier: Apache-2.0
#pragma once

// Networks in C++20: arrays, blocks and training. loomix/nn/loader.h has loaders with threads, loomix/nn/linalg.h linear algebra.
#include "loomix/nn/indexing.h"   // IWYU pragma: export
#include "loomix/nn/model.h"      // IWYU pragma: export
#include "loomix/nn/ops.h"        // IWYU pragma: export
#include "loomix/nn/recurrent.h"  // IWYU pragma: export
