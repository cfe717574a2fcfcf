// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace loomix::engine {

// What a device is good at, for those who shape graphs: passes and executors ask these questions, and name no device.
struct DeviceTraits {
  bool blocked_images = false;    // kernels read images in blocks of channels, and weights packed for that
  DTypeSet channels_last = {};    // types whose images are convolved faster with channels as the last axis
  bool closed_operators = false;  // operators can end with max(x, 0) (ops/closed_operators.h)
  bool fused_chains = false;      // there are kernels for chains of elementwise operators
  bool timed_kernels = false;     // measuring says which are taken, and which branches get one core each
  bool sparse_arrays = false;     // row_sparse and csr arrays can lie there
  bool records_work = false;      // what is put on a queue can be recorded, and launched again as one piece
  int64_t alignment = 64;         // of values in an arena, in bytes
  // Operators estimate their time on one core of a host. Here `speed` times as much is done at once, and a start takes `launch_ns`.
  double speed = 1;
  double launch_ns = 0;

  constexpr double time_ns(double estimate_ns) const noexcept { return launch_ns + estimate_ns / speed; }
};

}  // namespace loomix::engine
