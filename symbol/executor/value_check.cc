// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/value_check.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ops/index/index.h"
#include "ops/loss/softmax_output.h"

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

// Which input of an operator holds class numbers, and how many classes there are.
struct Labels {
  int input = -1;
  int64_t classes = 0;
  bool may_ignore = false;
  double ignored = 0;
};

Labels labels_of(const ops::OpDef& op, const AttrsBase& attrs, std::span<const TensorView> in) {
  const std::string_view name = op.name;
  if (name == "softmax_cross_entropy") return {.input = 1, .classes = in[0].shape[1]};
  if (name == "_backward_softmax_cross_entropy") return {.input = 2, .classes = in[1].shape[1]};
  if (name == "Embedding") return {.input = 0, .classes = attrs.as<ops::EmbeddingParams>().input_dim};
  if (name == "pick") {
    const auto& given = attrs.as<ops::PickParams>();
    if (given.mode != ops::IndexMode::clip) return {};
    const Shape& shape = in[0].shape;
    if (!given.axis) return {.input = 1, .classes = in[0].size()};
    const int axis = *given.axis < 0 ? *given.axis + shape.ndim() : *given.axis;
    return {.input = 1, .classes = shape[axis]};
  }
  if (name == "SoftmaxOutput" || name == "_backward_SoftmaxOutput") {
    const auto& given = attrs.as<ops::SoftmaxOutputParams>();
    const Shape& shape = in[0].shape;
    if (in[1].shape == shape) return {};  // probabilities
    const int64_t classes = given.multi_output     ? shape[1]
                            : given.preserve_shape ? shape[shape.ndim() - 1]
                                                   : in[0].size() / std::max<int64_t>(shape[0], 1);
    return {.input = 1, .classes = classes, .may_ignore = given.use_ignore, .ignored = given.ignore_label};
  }
  return {};
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
  const Labels labels = labels_of(op, attrs, in);
  if (labels.input < 0 || op.is_shape_only(attrs, labels.input)) return;
  const TensorView& view = in[static_cast<size_t>(labels.input)];
  if (!view) return;
  dispatch_all(view.dtype, "nan_check", [&]<class T>(Type<T>) {
    const T* const values = view.as<T>();
    for (int64_t i = 0; i < view.size(); ++i) {
      const auto value = static_cast<double>(values[i]);
      if (value >= 0 && value < static_cast<double>(labels.classes)) [[likely]]
        continue;
      if (labels.may_ignore && value == labels.ignored) continue;
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
