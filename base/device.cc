// SPDX-License-Identifier: Apache-2.0
#include "base/device.h"

#include <charconv>
#include <limits>

#include "base/error.h"

namespace loomix {
namespace {

struct Entry {
  DeviceType type;
  std::string_view name;
};

constexpr Entry kTypes[] = {{DeviceType::cpu, "cpu"},
                            {DeviceType::gpu, "gpu"},
                            {DeviceType::cpu_pinned, "cpu_pinned"},
                            {DeviceType::cpu_shared, "cpu_shared"},
                            {DeviceType::null, "null"}};

}  // namespace

std::string Device::to_string() const {
  for (const Entry& entry : kTypes) {
    if (entry.type == type) return fmt::format("{}({})", entry.name, id);
  }
  return fmt::format("device type {}({})", static_cast<int>(type), id);
}

Device Device::parse(std::string_view text) {
  const size_t open = text.find('(');
  const std::string_view name = text.substr(0, open);
  int16_t id = 0;
  bool good = true;
  if (open != std::string_view::npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + open + 1, end, id);
    good = error == std::errc() && id >= 0 && end - stop == 1 && *stop == ')';
  }
  for (const Entry& entry : kTypes) {
    if (good && entry.name == name) return {entry.type, id};
  }
  throw ValueError(
      fmt::format("[device] '{}' is not a device; expected cpu, gpu, cpu_pinned, cpu_shared or null, with an "
                  "optional number from 0 "
                  "to {}: gpu(1).",
                  text, std::numeric_limits<int16_t>::max()));
}

}  // namespace loomix
