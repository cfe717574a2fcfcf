// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/arrays.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/fill.h"
#include "ops/families_cuda.h"
#include "ops/init/init.h"

namespace loomix::ops {
namespace {

using namespace cuda;

constexpr DeviceType kGpu = DeviceType::gpu;

template <int value>
void constant_cuda(const KernelArgs& args) {
  fill(args.out[0], value, stream_of(args));
}
void set_value_cuda(const SetValueParams& p, const KernelArgs& args) {
  fill(args.out[0], static_cast<double>(*p.src), stream_of(args));
}
void full_cuda(const FullParams& p, const KernelArgs& args) { fill(args.out[0], p.value, stream_of(args)); }

// Element i is value(i / repeat).
template <class Value>
__global__ void progress(int64_t count, Divider repeat, Value value, MutableAnyArray y) {
  for (const int64_t i : own_items(count)) y.set(i, value(repeat.quotient(i)));
}

template <class Value>
void progression(const KernelArgs& args, int repeat, Value value) {
  const TensorView& out = args.out[0];
  launch(progress<Value>, grid_for(out.size()), stream_of(args), out.size(), Divider(repeat), value,
         MutableAnyArray(out));
}

void arange_cuda(const RangeParams& p, const KernelArgs& args) {
  progression(args, p.repeat, EvenSteps(p.stop || p.infer_range ? p.start : 0.0, p.step, args.out[0].dtype));
}
void linspace_cuda(const LinspaceParams& p, const KernelArgs& args) { progression(args, 1, Linspace(p)); }
void arange_like_cuda(const ArangeLikeParams& p, const KernelArgs& args) {
  progression(args, p.repeat, EvenSteps(p.start, p.step, args.out[0].dtype));
}

__global__ void put_diagonal(int64_t count, Divider columns, int64_t shift, MutableAnyArray y) {
  for (const int64_t i : own_items(count)) {
    const int64_t row = columns.quotient(i);
    y.set(i, i - row * columns.divisor() == row + shift ? 1.0 : 0.0);
  }
}
void eye_cuda(const EyeParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  launch(put_diagonal, grid_for(out.size()), stream_of(args), out.size(), Divider(out.shape[1]), p.k,
         MutableAnyArray(out));
}

}  // namespace

void kernels_init_cuda(KernelList& list) {
  for (const char* op : {"_zeros", "_zeros_without_dtype"})
    list.kernel<constant_cuda<0>>(op, "fill_cuda", kGpu);
  list.kernel<constant_cuda<1>>("_ones", "fill_cuda", kGpu);
  list.kernel<full_cuda>("_full", "fill_cuda", kGpu);
  list.kernel<arange_cuda>("_arange", "arange_cuda", kGpu);
  list.kernel<linspace_cuda>("_linspace", "linspace_cuda", kGpu);
  list.kernel<eye_cuda>("_eye", "eye_cuda", kGpu);
  list.kernel<set_value_cuda>("_set_value", "fill_cuda", kGpu);
  list.kernel<arange_like_cuda>("_contrib_arange_like", "arange_like_cuda", kGpu);
}

}  // namespace loomix::ops
