// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/params.h"
#include "ops/conv/layout.h"
#include "ops/infer.h"
#include "ops/kernel.h"

namespace loomix::ops {

enum class PoolType { max, avg, sum, lp };
// How many windows fit: rounded down, rounded up, or as many as input positions over the stride.
enum class PoolConvention { valid, full, same };

// Pooling_v1: fewer attributes.
struct PoolingV1Params {
  Shape kernel;
  PoolType pool_type = PoolType::max;
  bool global_pool = false;
  PoolConvention pooling_convention = PoolConvention::valid;
  Shape stride;
  Shape pad;

  template <class P>
  static void fields(FieldList<P>& f) {
    constexpr bool all = !std::is_same_v<P, PoolingV1Params>;
    std::vector<std::pair<std::string_view, PoolType>> types = {
        {"avg", PoolType::avg}, {"max", PoolType::max}, {"sum", PoolType::sum}};
    std::vector<std::pair<std::string_view, PoolConvention>> conventions = {{"full", PoolConvention::full},
                                                                            {"valid", PoolConvention::valid}};
    if constexpr (all) {
      types.emplace_back("lp", PoolType::lp);
      conventions.emplace_back("same", PoolConvention::same);
    }
    f("kernel", &P::kernel, "Size of the window, one number an axis.");
    f("pool_type", &P::pool_type, "What is taken of a window.").options(types);
    f("global_pool", &P::global_pool,
      "One window over everything; kernel, stride and pad are not looked at.");
    if constexpr (all) f("cudnn_off", &P::cudnn_off, "Has no effect.");
    f("pooling_convention", &P::pooling_convention, "How the number of windows is rounded.")
        .options(conventions);
    f("stride", &P::stride, "Distance of windows; 1 by default.");
    f("pad", &P::pad, "Positions added at each side; 0 by default.");
    if constexpr (all) {
      f("p_value", &P::p_value, "The exponent of pool type lp.");
      f("count_include_pad", &P::count_include_pad,
        "Whether averages count positions that were added; yes by default.");
      f("layout", &P::layout, "Order of the axes: NCW, NCHW or NCDHW by default.")
          .options(std::span(kPoolLayouts));
    }
  }
};

struct PoolingParams : PoolingV1Params {
  bool cudnn_off = false;
  std::optional<int> p_value;
  std::optional<bool> count_include_pad;
  std::optional<Layout> layout;
};

// The attributes of both as those of Pooling.
inline const PoolingParams& full(const PoolingParams& p) { return p; }
inline PoolingParams full(const PoolingV1Params& p) {
  PoolingParams all;
  static_cast<PoolingV1Params&>(all) = p;
  return all;
}

// A pooling in numbers; missing spatial axes have size one.
struct PoolGeometry {
  int64_t batch, channels;
  int64_t in[3], out[3], kernel[3], stride[3], pad[3];
  bool channels_last;
  // Pooling_v1: added positions are zeros, for maxima, too, and averages divide by windows as if none stuck out.
  bool whole_windows = false;

  PoolGeometry(const PoolingParams& p, const Shape& data);
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t window_size() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// The output's shape. Throws ShapeError, or ValueError for windows that no data has.
Shape pooled(const PoolingParams& p, const ShapeInfer& s, const Shape& data);

// Where in its window a maximum lies, counted row by row; the largest number (-1) says that none of the data is it.
using BytePlace = uint8_t;
using WidePlace = int32_t;
// Whether the places of windows are wide: where they have more than 255, or may have, since they are as large as the data.
bool has_wide_places(const PoolingParams& p);
template <class Place>
inline constexpr Place kNoPlace = static_cast<Place>(-1);

}  // namespace loomix::ops
