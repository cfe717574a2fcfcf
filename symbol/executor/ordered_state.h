// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/engine.h"
#include "ops/kernel.h"

namespace loomix {

// The state of an asynchronous kernel whose runs follow each other in the order in which they are pushed, and must not be left out,
// because other processes wait for them.
class OrderedState : public ops::KernelState {
 public:
  // What each run uses exclusively; null: they are free.
  virtual engine::Var* channel() const noexcept = 0;
  // A run was dropped, as something that it reads has an error. `what` describes the call. Any thread.
  virtual void dropped(const std::string& what) const noexcept = 0;
};

}  // namespace loomix
