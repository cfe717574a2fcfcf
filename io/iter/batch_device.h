// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/device.h"

namespace loomix::io {

// The parameter `ctx` of iterators, and `device_id`: -1 stands for plain memory, too.
struct BatchTarget {
  std::string ctx = "gpu";
  int device_id = 0;
};

// Where the next batch is made: in page-locked memory, from which copies to GPUs need no thread, if it is for a GPU and this process
// has used one; else in plain memory.
Device batch_device(const BatchTarget& target);

inline constexpr const char* kAboutCtx =
    "`gpu`: batches lie in page-locked memory (`cpu_pinned`) once the program uses a GPU; `cpu`: never.";

}  // namespace loomix::io
