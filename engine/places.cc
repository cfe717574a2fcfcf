// SPDX-License-Identifier: Apache-2.0
#include "engine/places.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include <sched.h>

#include "base/error.h"

namespace loomix::engine {
namespace {

constexpr int kMostCpus = 4096;
using Mask = std::vector<cpu_set_t>;  // as many as hold kMostCpus

Mask empty_mask() { return Mask(kMostCpus / CPU_SETSIZE); }
size_t bytes_of(const Mask& mask) { return mask.size() * sizeof(cpu_set_t); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

int number(std::string_view text, std::string_view list) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  LOOMIX_CHECK(error == std::errc() && end == text.data() + text.size() && value >= 0 && value < kMostCpus,
               ValueError, "[engine] '{}' is no list of CPUs; expected one like 0-3,8.", list);
  return value;
}

std::vector<int> parse_list(std::string_view list) {
  std::vector<int> cpus;
  for (const std::string_view range : split(list, ',')) {
    const size_t dash = range.find('-');
    const int first = number(range.substr(0, dash), list);
    const int last = dash == std::string_view::npos ? first : number(range.substr(dash + 1), list);
    LOOMIX_CHECK(first <= last, ValueError, "[engine] '{}' is no list of CPUs; {} comes after {}.", list,
                 first, last);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

void keep_allowed(std::vector<int>& cpus) {
  Mask allowed = empty_mask();
  if (sched_getaffinity(0, bytes_of(allowed), allowed.data()) != 0) return;
  std::erase_if(cpus, [&](int cpu) { return !CPU_ISSET_S(cpu, bytes_of(allowed), allowed.data()); });
}

std::vector<std::vector<int>> numa_nodes(const std::string& sysfs) {
  constexpr int kMostNodes = 1024;  // numbers may be left out, and nodes may have memory only
  std::vector<std::vector<int>> nodes;
  for (int node = 0; node < kMostNodes; ++node) {
    std::ifstream file(sysfs + "/node" + std::to_string(node) + "/cpulist");
    std::string list;
    if (!(file >> list)) continue;
    nodes.push_back(parse_list(list));
    keep_allowed(nodes.back());
    if (nodes.back().empty()) nodes.pop_back();
  }
  return nodes;
}

}  // namespace

std::vector<std::vector<int>> parse_places(std::string_view text, const std::string& sysfs) {
  if (text.empty()) return {};
  if (text == "numa") return numa_nodes(sysfs);
  std::vector<std::vector<int>> places;
  for (const std::string_view list : split(text, ';')) {
    places.push_back(parse_list(list));
    keep_allowed(places.back());
    LOOMIX_CHECK(!places.back().empty(), ValueError,
                 "[engine] workers shall stay on the CPUs {}, but this process may use none of them.", list);
  }
  return places;
}

void stay_on(const std::vector<int>& cpus) {
  Mask mask = empty_mask();
  for (const int cpu : cpus) CPU_SET_S(cpu, bytes_of(mask), mask.data());
  sched_setaffinity(0, bytes_of(mask), mask.data());
}

}  // namespace loomix::engine
