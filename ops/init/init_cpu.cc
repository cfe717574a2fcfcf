// SPDX-License-Identifier: Apache-2.0
#include "ops/init/init.h"
#include "ops/table.h"

#include <algorithm>
#include <cstring>

#include "engine/parallel_for.h"

namespace loomix::ops {
namespace {

constexpr int64_t kGrain = 32768;

void fill(const KernelArgs& args, double value) {
  const TensorView& out = args.out[0];
  dispatch_all(out.dtype, "_full", [&]<class T>(Type<T>) {
    T* const data = out.mutable_as<T>();
    const T element = static_cast<T>(value);
    engine::parallel_for(*args.context, out.size(), kGrain,
                         [=](int64_t begin, int64_t end) { std::fill(data + begin, data + end, element); });
  });
}

// Element i is value(i / repeat).
template <class Value>
void progression(const KernelArgs& args, int repeat, Value value) {
  const TensorView& out = args.out[0];
  dispatch_numeric(out.dtype, "_arange", [&]<class T>(Type<T>) {
    T* const data = out.mutable_as<T>();
    engine::parallel_for(*args.context, out.size(), kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) data[i] = static_cast<T>(value(i / repeat));
    });
  });
}

void zeros_cpu(const FillParams&, const KernelArgs& args) { fill(args, 0); }
void ones_cpu(const FillParams&, const KernelArgs& args) { fill(args, 1); }
void set_value_cpu(const SetValueParams& p, const KernelArgs& args) { fill(args, double(*p.src)); }
void zeros_without_dtype_cpu(const ZerosWithoutDtypeParams&, const KernelArgs& args) { fill(args, 0); }
void full_cpu(const FullParams& p, const KernelArgs& args) { fill(args, p.value); }

void arange_cpu(const RangeParams& p, const KernelArgs& args) {
  const double begin = p.stop || p.infer_range ? p.start : 0.0;
  progression(args, p.repeat,
              [=, step = p.step](int64_t i) { return begin + static_cast<double>(i) * step; });
}

void linspace_cpu(const LinspaceParams& p, const KernelArgs& args) {
  const double steps = static_cast<double>(std::max<int64_t>(p.endpoint ? p.num - 1 : p.num, 1));
  progression(args, 1, [=, begin = p.start, span = p.stop - p.start](int64_t i) {
    return begin + span * (static_cast<double>(i) / steps);
  });
}

void arange_like_cpu(const ArangeLikeParams& p, const KernelArgs& args) {
  progression(args, p.repeat, [p](int64_t i) { return p.start + static_cast<double>(i) * p.step; });
}

void eye_cpu(const EyeParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  std::memset(out.data, 0, static_cast<size_t>(out.bytes()));
  const int64_t rows = out.shape[0], columns = out.shape[1];
  dispatch_numeric(out.dtype, "_eye", [&]<class T>(Type<T>) {
    T* const data = out.mutable_as<T>();
    for (int64_t row = std::max<int64_t>(0, -p.k); row < rows && row + p.k < columns; ++row) {
      data[row * columns + row + p.k] = static_cast<T>(1);
    }
  });
}

}  // namespace

void kernels_init(OpTable& table) {
  table.kernel<zeros_cpu>("_zeros", "zeros_cpu");
  table.kernel<ones_cpu>("_ones", "ones_cpu");
  table.kernel<zeros_without_dtype_cpu>("_zeros_without_dtype", "zeros_without_dtype_cpu");
  table.kernel<full_cpu>("_full", "full_cpu");
  table.kernel<arange_cpu>("_arange", "arange_cpu");
  table.kernel<linspace_cpu>("_linspace", "linspace_cpu");
  table.kernel<eye_cpu>("_eye", "eye_cpu");
  table.kernel<set_value_cpu>("_set_value", "set_value_cpu");
  table.kernel<arange_like_cpu>("_contrib_arange_like", "arange_like_cpu");
}

}  // namespace loomix::ops
