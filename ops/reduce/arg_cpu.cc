// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/apply.h"
#include "ops/reduce/reduce.h"

namespace loomix::ops {
namespace {

template <class T>
bool is_nan(T value) {
  return value != value;
}

struct Greater {
  template <class T>
  static bool better(T x, T best) {
    return x > best || (is_nan(x) && !is_nan(best));
  }
};
struct Less {
  template <class T>
  static bool better(T x, T best) {
    return x < best || (is_nan(x) && !is_nan(best));
  }
};

// x as (outer, axis, inner); the first of equal elements wins, and NaN wins over numbers.
template <class Order, class T>
void search(const T* x, int64_t outer, int64_t size, int64_t inner, T* y, const KernelArgs& args) {
  using Value = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;
  engine::parallel_each(*args.context, outer * inner, std::max<int64_t>(1, kGrain / size), [&](int64_t i) {
    const T* line = x + i / inner * size * inner + i % inner;
    int64_t found = 0;
    Value best = static_cast<Value>(line[0]);
    for (int64_t k = 1; k < size; ++k) {
      const Value value = static_cast<Value>(line[k * inner]);
      if (Order::template better<Value>(value, best)) {
        best = value;
        found = k;
      }
    }
    y[i] = T(static_cast<Value>(found));
  });
}

template <class Order>
void search_axis(std::optional<int> axis, const KernelArgs& args, const char* who) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  if (y.size() == 0) return;
  LOOMIX_CHECK(x.size() > 0, ShapeError, "[{}] data of shape {} has no element to find.", who,
               x.shape.to_string());
  int64_t outer = 1;
  int64_t size = x.size();
  int64_t inner = 1;
  if (axis) {
    const int i = normalize_axis(*axis, x.shape.ndim(), who);
    outer = x.shape.size_between(0, i);
    size = x.shape[i];
    inner = x.shape.size_between(i + 1, x.shape.ndim());
  }
  dispatch_all(x.dtype, who, [&]<class T>(Type<T>) {
    search<Order, T>(x.as<T>(), outer, size, inner, y.mutable_as<T>(), args);
  });
}

}  // namespace

void argmax_cpu(const ArgParams& p, const KernelArgs& args) { search_axis<Greater>(p.axis, args, "argmax"); }
void argmin_cpu(const ArgParams& p, const KernelArgs& args) { search_axis<Less>(p.axis, args, "argmin"); }
void argmax_channel_cpu(const NoParams&, const KernelArgs& args) {
  search_axis<Greater>(1, args, "argmax_channel");
}

}  // namespace loomix::ops
