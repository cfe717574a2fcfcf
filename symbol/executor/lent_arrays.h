// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ndarray/ndarray.h"

namespace loomix {

// Arrays over the memory of an asynchronous task, for code that pushes operations and waits while that runs: handles with Vars
// of their own, since those of the real arrays are the task's until it ends.
class LentArrays {
 public:
  explicit LentArrays(engine::Engine& engine) : engine_(engine) {}

  // A place in `storage`, which lives as long as the array. Or one in scratch memory: an array of its own then, which
  // `settle` copies there.
  NDArray lend(const TensorView& view, const Ref<Storage>& storage);
  // Waits for all that was pushed on them; throws the first error of theirs.
  void settle() const;
  // After that: those that somebody else holds on to.
  std::vector<NDArray> kept() const;

 private:
  engine::Engine& engine_;
  std::vector<NDArray> arrays_;
  std::vector<std::pair<NDArray, TensorView>> scratch_;
};

}  // namespace loomix
