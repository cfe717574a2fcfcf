// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/value_check.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace loomix {
namespace {

struct Found {
  int64_t nan = -1;  // positions
  int64_t infinity = -1;
};

Found find(const TensorView& view) {
  Found found;
  if (!view || !is_floating(view.dtype) || !view.shape.is_known()) return found;
  dispatch_floating(view.dtype, "nan_check", [&]<class T>(Type<T>) {
    const T* const values = view.as<T>();
    const int64_t size = view.size();
    for (int64_t i = 0; i < size; ++i) {
      const auto value = static_cast<double>(values[i]);
      if (std::isfinite(value)) [[likely]]
        continue;
      if (std::isnan(value)) {
        found.nan = i;
        return;
      }
      if (found.infinity < 0) found.infinity = i;
    }
  });
  return found;
}

// Whether the call says itself that it wants such values, as full(shape, -inf) does.
bool are_wanted(const AttrsBase& attrs) {
  for (const auto& [name, value] : attrs.given()) {
    if (value == "inf" || value == "-inf" || value == "nan") return true;
  }
  return false;
}

// "(1, 2)": where the element at `position` lies.
std::string place_of(const Shape& shape, int64_t position) {
  Shape place = shape;
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    place[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return place.to_string();
}

}  // namespace

bool check_inputs(const ops::OpDef& op, const AttrsBase& attrs, std::span<const TensorView> in) {
  bool infinite = false;
  for (size_t i = 0; i < in.size(); ++i) {
    const int position = static_cast<int>(i);
    if (op.is_shape_only(attrs, position) || op.mutates(attrs, position)) continue;
    const Found found = find(in[i]);
    LOOMIX_CHECK(
        found.nan < 0, ValueError,
        "[nan_check] {} got NaN: element {} of input '{}', of shape {}. No operator made it; it came "
        "from data, a file or before nan_check was on.",
        op.name, place_of(in[i].shape, found.nan), op.input_name(attrs, position), in[i].shape.to_string());
    if (found.infinity >= 0) infinite = true;
  }
  return infinite;
}

void check_labels(const ops::OpDef& op, const AttrsBase& attrs, std::span<const TensorView> in) {
  if (!op.class_numbers) return;
  const ops::ClassNumbers labels = op.class_numbers(attrs, in);
  if (labels.input < 0 || op.is_shape_only(attrs, labels.input)) return;
  const TensorView& view = in[static_cast<size_t>(labels.input)];
  if (!view) return;
  dispatch_all(view.dtype, "nan_check", [&]<class T>(Type<T>) {
    const T* const values = view.as<T>();
    for (int64_t i = 0; i < view.size(); ++i) {
      const auto value = static_cast<double>(values[i]);
      if (value >= 0 && value < static_cast<double>(labels.classes)) [[likely]]
        continue;
      if (value == labels.ignored) continue;
      detail::throw_error<IndexError>(
          "[{}] element {} of input '{}' is {}; there are {} classes: expected 0 to {}.", op.name,
          place_of(view.shape, i), op.input_name(attrs, labels.input), value, labels.classes,
          labels.classes - 1);
    }
  });
}

void check_outputs(const ops::OpDef& op, const AttrsBase& attrs, bool infinite_inputs,
                   std::span<const TensorView> out, std::span<const ops::Req> req) {
  for (size_t i = 0; i < out.size(); ++i) {
    if (i < req.size() && req[i] == ops::Req::null) continue;
    const Found found = find(out[i]);
    if (found.nan < 0 && (found.infinity < 0 || infinite_inputs)) continue;
    if (are_wanted(attrs)) continue;
    const bool nan = found.nan >= 0;
    detail::throw_error<ValueError>("[nan_check] {} made {}: element {} of its output '{}', of shape {}.",
                                    op.name, nan ? "NaN" : "infinity",
                                    place_of(out[i].shape, nan ? found.nan : found.infinity),
                                    op.output_name(attrs, static_cast<int>(i)), out[i].shape.to_string());
  }
}

}  // namespace loomix
