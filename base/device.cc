// SPDX-License-Identifier: Apache-2.0
#include "base/device.h"

#include <charconv>

#include "base/error.h"

namespace loomix {
namespace {

struct Row {
  DeviceType type;
  std::string_view name;
};

constexpr Row kRows[] = {{DeviceType::cpu, "cpu"},
                         {DeviceType::gpu, "gpu"},
                         {DeviceType::cpu_pinned, "cpu_pinned"},
                         {DeviceType::cpu_shared, "cpu_shared"},
                         {DeviceType::null, "null"}};

}  // namespace

std::string Device::to_string() const {
  for (const Row& row : kRows) {
    if (row.type == type) return fmt::format("{}({})", row.name, id);
  }
  return fmt::format("device{}({})", static_cast<int>(type), id);
}

Device Device::parse(std::string_view text) {
  const size_t bracket = text.find('(');
  const std::string_view name = text.substr(0, bracket);
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    if (bracket == std::string_view::npos) return {row.type, 0};
    int16_t id = 0;
    const char* const first = text.data() + bracket + 1;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, id);
    if (error == std::errc() && id >= 0 && end + 1 == last && *end == ')') return {row.type, id};
  }
  detail::throw_error<ValueError>("[device] cannot read '{}'; expected a name and number such as cpu(0) or gpu(1).", text);
}

}  // namespace loomix
