// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace loomix {

// What a process may use of its machine: the limits of its control groups count, as in containers and batch systems.
struct Machine {
  int cores = 1;  // a part of a core counts as one
  int64_t memory_bytes = 0;
};

// Of this process; read once.
const Machine& machine();

// The control groups' limits of the process whose files are under `root` ("/proc/self/cgroup" and "/sys/fs/cgroup" as
// seen from there), of version 1 or 2, within `whole`.
Machine limited_machine(const std::string& root, Machine whole);

}  // namespace loomix
