// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "ops/axis_split.h"
#include "ops/elemwise/apply.h"
#include "ops/reduce/reduce.h"

namespace loomix::ops {
namespace {

template <class T>
bool is_nan(T value) {
  return value != value;
}

// The first of equal elements wins, and NaN wins over numbers.
void put_index(const TensorView& y, int64_t i, int64_t index) {
  dispatch_all(y.dtype, "argmax", [&]<class I>(Type<I>) {
    using Value = std::conditional_t<std::is_same_v<I, float16> || std::is_same_v<I, bfloat16>, float, I>;
    y.mutable_as<I>()[i] = I(static_cast<Value>(index));
  });
}

template <class Order, class T>
void search(const T* x, const AxisSplit& split, const TensorView& y, const KernelArgs& args) {
  using Value = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;
  engine::parallel_each(*args.context, split.lines(), loop_grain(split.size), [&](int64_t i) {
    const T* line = x + split.start(i, split.size);
    int64_t found = 0;
    Value best = static_cast<Value>(line[0]);
    for (int64_t k = 1; k < split.size; ++k) {
      const Value value = static_cast<Value>(line[k * split.inner]);
      if (Order()(value, best) || (is_nan(value) && !is_nan(best))) {
        best = value;
        found = k;
      }
    }
    put_index(y, i, found);
  });
}

template <class Order>
void search_axis(std::optional<int> axis, const KernelArgs& args, const char* who) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  LOOMIX_CHECK(x.size() > 0, ShapeError, "[{}] data of shape {} has no element to find.", who,
               x.shape.to_string());
  const AxisSplit split(x.shape, axis, who);
  dispatch_all(x.dtype, who, [&]<class T>(Type<T>) { search<Order>(x.as<T>(), split, y, args); });
}

}  // namespace

void argmax_cpu(const ArgParams& p, const KernelArgs& args) {
  search_axis<std::greater<>>(p.axis, args, "argmax");
}
void argmin_cpu(const ArgParams& p, const KernelArgs& args) {
  search_axis<std::less<>>(p.axis, args, "argmin");
}
void argmax_channel_cpu(const KernelArgs& args) { search_axis<std::greater<>>(1, args, "argmax_channel"); }

}  // namespace loomix::ops
