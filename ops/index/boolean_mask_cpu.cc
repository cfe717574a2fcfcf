// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/index/index.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// fn(i) for the slices whose entry is not zero.
template <class Fn>
void each_chosen(const TensorView& index, Fn&& fn) {
  dispatch_all(index.dtype, "boolean_mask", [&]<class T>(Type<T>) {
    const T* const entries = index.as<T>();
    for (int64_t i = 0; i < index.size(); ++i) {
      if (static_cast<float>(entries[i]) != 0.0f) fn(i);
    }
  });
}

int64_t count_chosen(const TensorView& index) {
  int64_t count = 0;
  each_chosen(index, [&](int64_t) { ++count; });
  return count;
}

struct Slices {
  int64_t outer, size, bytes;
};
Slices slices_of(const TensorView& data, int axis) {
  return {data.shape.size_between(0, axis), data.shape[axis],
          data.shape.size_between(axis + 1, data.shape.ndim()) * size_of(data.dtype)};
}

void boolean_mask_cpu(const MaskParams& p, const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const int axis = normalize_axis(p.axis, data.shape.ndim(), "boolean_mask");
  Shape shape = data.shape;
  shape[axis] = count_chosen(args.in[1]);
  const TensorView out = args.deferred->allocate(0, shape);
  const Slices slices = slices_of(data, axis);
  const auto* from = static_cast<const std::byte*>(data.data);
  auto* to = static_cast<std::byte*>(out.data);
  for (int64_t o = 0; o < slices.outer; ++o) {
    each_chosen(args.in[1], [&](int64_t i) {
      std::memcpy(to, from + (o * slices.size + i) * slices.bytes, static_cast<size_t>(slices.bytes));
      to += slices.bytes;
    });
  }
}

void backward_boolean_mask_cpu(const MaskParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const TensorView& grad = args.in[0];
  const int axis = normalize_axis(p.axis, out.shape.ndim(), "boolean_mask");
  check_mask_gradient(p, grad.shape, args.in[1]);
  const Slices slices = slices_of(out, axis);
  const auto* from = static_cast<const std::byte*>(grad.data);
  auto* const to = static_cast<std::byte*>(out.data);
  std::memset(to, 0, static_cast<size_t>(out.bytes()));
  for (int64_t o = 0; o < slices.outer; ++o) {
    each_chosen(args.in[1], [&](int64_t i) {
      std::memcpy(to + (o * slices.size + i) * slices.bytes, from, static_cast<size_t>(slices.bytes));
      from += slices.bytes;
    });
  }
}

}  // namespace

void check_mask_gradient(const MaskParams& p, const Shape& grad, const TensorView& index) {
  const int64_t chosen = count_chosen(index);
  LOOMIX_CHECK(grad[normalize_axis(p.axis, grad.ndim(), "boolean_mask")] == chosen, ShapeError,
               "[boolean_mask] the gradient has shape {}; {} slices were chosen.", grad.to_string(), chosen);
}

void kernels_boolean_mask(OpTable& table) {
  table.kernel<boolean_mask_cpu>("_contrib_boolean_mask", "boolean_mask_cpu");
}

void gradients_boolean_mask(OpTable& table) {
  table.kernel<backward_boolean_mask_cpu>("_backward_contrib_boolean_mask", "backward_boolean_mask_cpu");
}

}  // namespace loomix::ops
