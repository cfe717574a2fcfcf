// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loomix::engine {

// Sets of CPUs, each for an equal share of a pool's workers. `text` is empty (none: the system places threads), "numa" (the
// CPUs of each NUMA node), or lists as "0-3,8;4-7". Only CPUs that this process may use are named; ValueError where a list
// has none, or cannot be read. `sysfs`: where the kernel lists nodes.
std::vector<std::vector<int>> parse_places(std::string_view text,
                                           const std::string& sysfs = "/sys/devices/system/node");

// Keeps the calling thread on these CPUs.
void stay_on(const std::vector<int>& cpus);

}  // namespace loomix::engine
