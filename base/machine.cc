// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace loomix {
namespace {

// The first line of a file, or nothing.
std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Nothing for "max", "-1" and whatever else is no positive number.
std::optional<int64_t> positive(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

void limit_memory(Machine& machine, const std::string& text) {
  if (const auto bytes = positive(text)) machine.memory_bytes = std::min(machine.memory_bytes, *bytes);
}

void limit_cores(Machine& machine, std::string_view quota, std::string_view period) {
  const auto time = positive(quota);
  const auto of = positive(period);
  if (!time || !of) return;
  const int64_t cores = std::max<int64_t>((*time + *of - 1) / *of, 1);
  machine.cores = static_cast<int>(std::min<int64_t>(machine.cores, cores));
}

void limit_by_v2(Machine& machine, const std::string& folder) {
  limit_memory(machine, line_of(folder + "/memory.max"));
  const std::string cpu = line_of(folder + "/cpu.max");
  const size_t space = cpu.find(' ');
  if (space != std::string::npos)
    limit_cores(machine, std::string_view(cpu).substr(0, space), std::string_view(cpu).substr(space + 1));
}

void limit_by_v1(Machine& machine, const std::string& folder) {
  limit_memory(machine, line_of(folder + "/memory.limit_in_bytes"));
  limit_cores(machine, line_of(folder + "/cpu.cfs_quota_us"), line_of(folder + "/cpu.cfs_period_us"));
}

// A group is bound by those around it, too. In a container the path may be the host's, of which only the mount's root is
// there to see.
template <class Limit>
void limit_upwards(Machine& machine, const std::string& mount, std::string path, Limit limit) {
  while (!path.empty() && path != "/") {
    limit(machine, mount + path);
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  limit(machine, mount);
}

Machine whole_machine() {
  Machine whole;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    whole.cores = std::max(CPU_COUNT(&allowed), 1);
  } else {
    whole.cores = static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  }
  whole.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  return whole;
}

}  // namespace

// Lines of /proc/self/cgroup: "0::/path" for version 2, "4:cpu,cpuacct:/path" for version 1; both may be there.
Machine limited_machine(const std::string& root, Machine whole) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) limit_upwards(whole, mount, path, limit_by_v2);
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');) {
      if (name == "memory" || name == "cpu") limit_upwards(whole, mount + "/" + name, path, limit_by_v1);
    }
  }
  return whole;
}

const Machine& machine() {
  static const Machine limited = limited_machine("", whole_machine());
  return limited;
}

}  // namespace loomix
