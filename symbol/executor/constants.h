// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "base/error.h"
#include "ndarray/ndarray.h"
#include "symbol/graph.h"

namespace loomix {

// Arrays of variables that passes made: what was computed at compile time, and what is held. A variable is known by the
// identity of its NodeInfo, never by its name. Each is kept here, so that none that a later pass makes can have the address
// of one that an earlier pass dropped.
class Constants {
 public:
  void add(Ref<const NodeInfo> variable, NDArray array) {
    const NodeInfo* const key = variable.get();
    const bool is_new = arrays_.try_emplace(key, std::move(variable), std::move(array)).second;
    LOOMIX_INTERNAL_CHECK(is_new);
  }
  // Null for other variables.
  const NDArray* find(const NodeInfo* variable) const {
    const auto found = arrays_.find(variable);
    return found == arrays_.end() ? nullptr : &found->second.second;
  }

 private:
  std::map<const NodeInfo*, std::pair<Ref<const NodeInfo>, NDArray>> arrays_;
};

}  // namespace loomix
