// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/cuda/arrays.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/reduce.h"
#include "ops/elemwise/binary_functors.h"
#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/numbers_cuda.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

constexpr DeviceType kGpu = DeviceType::gpu;

// ---- where ------------------------------------------------------------------------------------------------------------

template <class T>
__global__ void choose(int64_t count, Divider row, AnyArray condition, const T* yes, const T* no, T* y) {
  for (const int64_t i : own_items(count)) y[i] = condition[row.quotient(i)] != 0 ? yes[i] : no[i];
}

void where_cuda(const KernelArgs& args) {
  const TensorView &condition = args.in[0], &y = args.out[0];
  const int64_t row = condition.shape == y.shape ? 1 : y.size() / condition.size();
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    launch(choose<T>, grid_for(y.size()), stream_of(args), y.size(), Divider(row), AnyArray(condition),
           static_cast<const T*>(args.in[1].data), static_cast<const T*>(args.in[2].data),
           static_cast<T*>(y.data));
  });
}

// ---- bounds -----------------------------------------------------------------------------------------------------------

template <class C>
struct Clipped {
  C low, high;
  __device__ C operator()(C x) const { return fn::Minimum::f(Math{}, fn::Maximum::f(Math{}, x, low), high); }
};
__global__ void clip_integers(int64_t count, IntegerArray x, int64_t low, int64_t high,
                              MutableIntegerArray y) {
  for (const int64_t i : own_items(count)) y.set(i, Clipped<int64_t>{low, high}(x[i]));
}

template <class T>
Computed<T> number_of(double value) {
  const Number number(value, dtype_of<T>());  // rounded as an element is
  T rounded;
  __builtin_memcpy(&rounded, number.bytes, sizeof(T));
  return load(rounded);
}

void clip_cuda(const ClipParams& p, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  if (!is_floating(y.dtype)) {
    const Number low(clip_bound(p.a_min, y.dtype), y.dtype), high(clip_bound(p.a_max, y.dtype), y.dtype);
    return launch(clip_integers, grid_for(y.size()), stream_of(args), y.size(), IntegerArray{x.data, x.dtype},
                  IntegerArray{low.bytes, y.dtype}[0], IntegerArray{high.bytes, y.dtype}[0],
                  MutableIntegerArray{y.data, y.dtype});
  }
  dispatch_floating(y.dtype, "clip", [&]<class T>(Type<T>) {
    map(stream_of(args), y.size(), Clipped<Computed<T>>{number_of<T>(p.a_min), number_of<T>(p.a_max)},
        y.mutable_as<T>(), x.as<T>());
  });
}

template <class C>
struct HardSigmoid {
  C slope, shift;
  __device__ C operator()(C x) const { return Clipped<C>{C(0), C(1)}(x * slope + shift); }
};

Support hard_sigmoid_support(const KernelSpec& spec) {
  return is_floating(spec.out[0].dtype) ? Support::yes() : Support::no("it is for floating types");
}
void hard_sigmoid_cuda(const HardSigmoidParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  dispatch_floating(y.dtype, "hard_sigmoid", [&]<class T>(Type<T>) {
    map(stream_of(args), y.size(), HardSigmoid<Computed<T>>{number_of<T>(p.alpha), number_of<T>(p.beta)},
        y.mutable_as<T>(), args.in[0].as<T>());
  });
}

// ---- sums of arrays -----------------------------------------------------------------------------------------------------

constexpr int kMostTerms = 64;  // of a launch

struct Terms {
  const void* data[kMostTerms];
  int count;
};

template <class T>
__global__ void add_arrays(int64_t count, Terms terms, bool continues, T* y) {
  for (const int64_t i : own_items(count)) {
    Computed<T> sum = continues ? load(y[i]) : load(static_cast<const T*>(terms.data[0])[i]);
    for (int k = continues ? 0 : 1; k < terms.count; ++k)
      sum += load(static_cast<const T*>(terms.data[k])[i]);
    y[i] = store<T>(sum);
  }
}
__global__ void add_integers(int64_t count, Terms terms, bool continues, MutableIntegerArray y) {
  for (const int64_t i : own_items(count)) {
    uint64_t sum = continues ? static_cast<uint64_t>(IntegerArray{y.data, y.dtype}[i]) : 0;
    for (int k = 0; k < terms.count; ++k)
      sum += static_cast<uint64_t>(IntegerArray{terms.data[k], y.dtype}[i]);
    y.set(i, static_cast<int64_t>(sum));
  }
}

// The output may be the first term.
void add_n_cuda(const AddNParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  for (int first = 0; first < p.num_args; first += kMostTerms) {
    Terms terms{};
    terms.count = std::min(kMostTerms, p.num_args - first);
    for (int k = 0; k < terms.count; ++k) terms.data[k] = args.in[static_cast<size_t>(first + k)].data;
    if (is_floating(y.dtype)) {
      dispatch_floating(y.dtype, "add_n", [&]<class T>(Type<T>) {
        launch(add_arrays<T>, grid_for(y.size()), stream_of(args), y.size(), terms, first > 0,
               y.mutable_as<T>());
      });
    } else {
      launch(add_integers, grid_for(y.size()), stream_of(args), y.size(), terms, first > 0,
             MutableIntegerArray{y.data, y.dtype});
    }
  }
}

// ---- MakeLoss -----------------------------------------------------------------------------------------------------------

// By one block.
__global__ void count_above(int64_t count, AnyArray x, double threshold, double* result) {
  int64_t above = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
    above += static_cast<float>(x[i]) > threshold ? 1 : 0;
  above = merge_block(above, int64_t{0}, Plus());
  if (threadIdx.x == 0) *result = static_cast<double>(above > 1 ? above : 1);
}
__global__ void fill_share(int64_t count, double whole, const double* parts, MutableAnyArray y) {
  for (const int64_t i : own_items(count)) y.set(i, whole / *parts);
}

size_t make_loss_scratch(const KernelSpec&) { return sizeof(double); }

void backward_make_loss_cuda(const MakeLossParams& p, const KernelArgs& args) {
  const TensorView &data = args.in[0], &y = args.out[0];
  double scale = p.grad_scale;
  if (p.normalization == MakeLossNormalization::valid) {
    double* const valid = reinterpret_cast<double*>(args.scratch.data());
    launch(count_above, Grid{1, 1024}, stream_of(args), data.size(), AnyArray(data), p.valid_thresh, valid);
    return launch(fill_share, grid_for(y.size()), stream_of(args), y.size(), scale, valid,
                  MutableAnyArray(y));
  }
  // As in MXNet, a batch counts all axes but the last one.
  if (p.normalization == MakeLossNormalization::batch && data.shape.ndim() > 0)
    scale /= static_cast<double>(data.shape.size_between(0, data.shape.ndim() - 1));
  fill(y, scale, stream_of(args));
}

}  // namespace

void kernels_select_cuda(KernelList& list) {
  list.kernel<where_cuda>("where", "where_cuda", kGpu);
  list.kernel<clip_cuda>("clip", "clip_cuda", kGpu);
  list.kernel<hard_sigmoid_cuda, hard_sigmoid_support>("hard_sigmoid", "hard_sigmoid_cuda", kGpu);
  list.kernel<add_n_cuda>("add_n", "add_n_cuda", kGpu);
  list.kernel<backward_make_loss_cuda, make_loss_scratch>("_backward_MakeLoss", "make_loss_cuda", kGpu);
}

}  // namespace loomix::ops
