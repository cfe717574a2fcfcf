// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace loomix {

// The one device there is, by its two names in MXNet's interface.
enum class DeviceType : int16_t { cpu = 1, cpu_pinned = 3 };

struct Device {
  DeviceType type = DeviceType::cpu;
  int16_t id = 0;
  static constexpr Device cpu() { return {}; }
  friend constexpr auto operator<=>(const Device&, const Device&) = default;
  std::string to_string() const { return "cpu(0)"; }
};

}  // namespace loomix
