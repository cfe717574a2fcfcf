// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace loomix {

// The numbers are those stored in MXNet's array files. `null` allocates, orders and computes nothing:
// it completes late and out of order, so that schedulers can be tested without hardware.
enum class DeviceType : int16_t { cpu = 1, gpu = 2, cpu_pinned = 3, cpu_shared = 5, null = 100 };

// Where an array lives and a task runs. Several CPU ids share the same memory and cores but have queues of their own.
struct Device {
  DeviceType type = DeviceType::cpu;
  int16_t id = 0;

  static constexpr Device cpu(int id = 0) { return {DeviceType::cpu, static_cast<int16_t>(id)}; }
  static constexpr Device gpu(int id = 0) { return {DeviceType::gpu, static_cast<int16_t>(id)}; }
  static constexpr Device null(int id = 0) { return {DeviceType::null, static_cast<int16_t>(id)}; }

  // True where the host can read the memory directly and tasks complete when they return.
  constexpr bool is_host() const { return type != DeviceType::gpu && type != DeviceType::null; }
  friend constexpr auto operator<=>(const Device&, const Device&) = default;

  std::string to_string() const;               // "cpu(0)"
  static Device parse(std::string_view text);  // "cpu", "gpu(1)"; throws ValueError
};

}  // namespace loomix

template <>
struct std::hash<loomix::Device> {
  size_t operator()(const loomix::Device& device) const noexcept {
    return static_cast<size_t>(device.type) * 65536 + static_cast<uint16_t>(device.id);
  }
};
