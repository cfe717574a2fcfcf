// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/device_traits.h"
#include "engine/engine.h"

// Which steps of a task on a device may run side by side: arithmetic on tags and estimates.
namespace loomix {

struct BranchStep {
  std::span<const engine::Tag> tags;
  double cost_ns = 0;  // on one core of a host, as operators estimate it
};

// Where a step goes. Steps of one branch run in their order.
struct BranchPlace {
  int branch = 0;
  bool is_followed = false;            // steps of other branches wait for it
  std::vector<uint32_t> follows = {};  // steps of other branches for which it waits
  bool operator==(const BranchPlace&) const = default;
};

// Steps that share a Var run as if in the order given. At most `most` branches; none if that is not worth it.
std::vector<BranchPlace> plan_branches(std::span<const BranchStep> steps, int most,
                                       const engine::DeviceTraits& traits);

}  // namespace loomix
