// SPDX-License-Identifier: Apache-2.0
#include "ops/init/init.h"
#include "ops/table.h"

#include <algorithm>
#include <cstring>

#include "ops/elemwise/apply.h"

namespace loomix::ops {
namespace {

// Element i is value(i / repeat).
template <class Value>
void progression(const KernelArgs& args, int repeat, Value value) {
  const TensorView& out = args.out[0];
  parallel_blocks(args, out.size(), [&](int64_t begin, int64_t end) {
    double block[kLoopBlock];
    for (int64_t first = begin; first < end; first += kLoopBlock) {
      const int64_t count = std::min(kLoopBlock, end - first);
      for (int64_t i = 0; i < count; ++i) block[i] = value((first + i) / repeat);
      convert_row(DType::float64, block, out.dtype, mutable_element(out, first), count);
    }
  });
}

void set_value_cpu(const SetValueParams& p, const KernelArgs& args) {
  apply_fill(double(*p.src), args.out[0], args);
}
void full_cpu(const FullParams& p, const KernelArgs& args) { apply_fill(p.value, args.out[0], args); }

void arange_cpu(const RangeParams& p, const KernelArgs& args) {
  progression(args, p.repeat, EvenSteps(p.stop || p.infer_range ? p.start : 0.0, p.step, args.out[0].dtype));
}

void linspace_cpu(const LinspaceParams& p, const KernelArgs& args) { progression(args, 1, Linspace(p)); }

void arange_like_cpu(const ArangeLikeParams& p, const KernelArgs& args) {
  progression(args, p.repeat, EvenSteps(p.start, p.step, args.out[0].dtype));
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
  for (const char* op : {"_zeros", "_zeros_without_dtype"}) table.kernel<fill_cpu<0>>(op, "fill_cpu");
  table.kernel<fill_cpu<1>>("_ones", "fill_cpu");
  table.kernel<full_cpu>("_full", "full_cpu");
  table.kernel<arange_cpu>("_arange", "arange_cpu");
  table.kernel<linspace_cpu>("_linspace", "linspace_cpu");
  table.kernel<eye_cpu>("_eye", "eye_cpu");
  table.kernel<set_value_cpu>("_set_value", "set_value_cpu");
  table.kernel<arange_like_cpu>("_contrib_arange_like", "arange_like_cpu");
}

}  // namespace loomix::ops
