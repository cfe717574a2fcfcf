// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace loomix {

// The known name that differs least from `name` (edits of single letters, case ignored); empty if none is near.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

// " Did you mean 'axis'?", or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

}  // namespace loomix
