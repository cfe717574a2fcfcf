// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/kernel_rows.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <fmt/format.h>

namespace loomix::engine {
namespace {

// CUPTI moves the device's clock to the host's by lines that it draws anew, so what comes next may seem to come that much too early.
constexpr int64_t kJitter = 1000;

// The place of the parenthesis that the last one closes; npos if it closes none.
size_t opening(std::string_view text) {
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

void KernelRows::add_task(Trace& trace, const std::string& track, const std::string& name,
                          const std::vector<DeviceActivity>& activities) {
  const auto row = free_from_.find(track);
  const int64_t free_from = row == free_from_.end() ? 0 : row->second;
  const int64_t begin = std::max(activities.front().begin, free_from);
  int64_t end = begin;
  for (const DeviceActivity& activity : activities) end = std::max(end, activity.end);
  trace.add(track, name, "device", begin, end);
  for (const DeviceActivity& activity : activities) add(trace, track, activity, begin);
  free_from_[track] = end;
}

void KernelRows::add_others(Trace& trace, const std::string& track,
                            const std::vector<DeviceActivity>& activities) {
  for (const DeviceActivity& activity : activities) add(trace, track, activity, 0);
}

// On the first row that is free then. On the task's own one nothing begins before the task.
void KernelRows::add(Trace& trace, const std::string& track, const DeviceActivity& activity,
                     int64_t earliest) {
  std::string row = track;
  for (int beside = 1;; ++beside) {
    int64_t& free_from = free_from_[row];
    const int64_t first = beside == 1 ? std::max(free_from, earliest) : free_from;
    if (activity.begin + kJitter >= first) {
      const int64_t begin = std::max(activity.begin, first);
      free_from = std::max(activity.end, begin);
      return trace.add(row, *activity.name, activity.category, begin, free_from);
    }
    row = fmt::format("{}, beside {}", track, beside);
  }
}

// Names of C stay as they are: the demangler would take "f" for a type.
std::string kernel_name(const char* mangled) {
  std::string_view name = mangled;
  if (!name.starts_with("_Z")) return mangled;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr), &std::free);
  if (plain) name = plain.get();
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (!name.ends_with(')')) return std::string(name);
  const size_t parameters = opening(name);
  return std::string(parameters == 0 ? name : name.substr(0, parameters));
}

}  // namespace loomix::engine
