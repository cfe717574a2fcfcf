// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"

namespace loomix::ops {

// Element i of a list that may be left out.
inline int64_t value_or(const Shape& list, int i, int64_t otherwise) {
  return list.ndim() > i ? list[i] : otherwise;
}

// Order of the axes of images: N batch, C channels, D depth, H height, W width.
enum class Layout { NCW, NCHW, NCDHW, NWC, NHWC, NDHWC };

inline bool channels_last(std::optional<Layout> layout) { return layout && *layout >= Layout::NWC; }
inline int spatial_axes(Layout layout) { return static_cast<int>(layout) % 3 + 1; }

using LayoutName = std::pair<std::string_view, Layout>;
inline constexpr LayoutName kPoolLayouts[] = {{"NCDHW", Layout::NCDHW}, {"NCHW", Layout::NCHW},
                                              {"NCW", Layout::NCW},     {"NDHWC", Layout::NDHWC},
                                              {"NHWC", Layout::NHWC},   {"NWC", Layout::NWC}};
inline constexpr LayoutName kConvLayouts[] = {{"NCDHW", Layout::NCDHW},
                                              {"NCHW", Layout::NCHW},
                                              {"NCW", Layout::NCW},
                                              {"NDHWC", Layout::NDHWC},
                                              {"NHWC", Layout::NHWC}};

}  // namespace loomix::ops
