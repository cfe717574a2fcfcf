// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/arrays.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/lines.h"
#include "ops/families_cuda.h"
#include "ops/reduce/cumsum.h"
#include "ops/reduce/reduce.h"

// Extrema and running sums along one axis.
namespace loomix::ops {
namespace {

using namespace cuda;

template <class V>
struct Found {
  V value;
  int64_t index;  // -1: nothing yet
};

// The first of equal elements wins, and NaN wins over numbers.
template <class V>
struct Better {
  bool largest;
  __device__ Found<V> operator()(Found<V> a, Found<V> b) const {
    if (b.index < 0) return a;
    if (a.index < 0) return b;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (!a_nan && a.value != b.value) return (a.value > b.value) == largest ? a : b;
    return a.index < b.index ? a : b;
  }
};

template <class V, class Input>
__global__ void find_extrema(Lines lines, Input x, MutableAnyArray y, bool largest) {
  const Better<V> better{largest};
  each_line(lines, [&](int64_t line, int64_t first) {
    Found<V> best{V(0), -1};
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x)
      best = better(best, Found<V>{static_cast<V>(x[lines.at(first, i)]), i});
    best = merge_line(best, Found<V>{V(0), -1}, better);
    if (threadIdx.x == 0) y.set(line, best.index);
  });
}

void search_axis(std::optional<int> axis, const KernelArgs& args, bool largest, const char* who) {
  const TensorView& x = args.in[0];
  LOOMIX_CHECK(x.size() > 0, ShapeError, "[{}] data of shape {} has no element to find.", who,
               x.shape.to_string());
  const Lines lines(AxisSplit(x.shape, axis, who));
  const MutableAnyArray y(args.out[0]);
  const auto run = [&]<class V, class Input>(Type<V>, const Input& input) {
    launch(find_extrema<V, Input>, lines.grid(), stream_of(args), lines, input, y, largest);
  };
  switch (x.dtype) {
    case DType::float32: return run(Type<float>{}, FloatArray<float>{x.as<float>()});
    case DType::float64: return run(Type<double>{}, FloatArray<double>{x.as<double>()});
    case DType::float16:
    case DType::bfloat16:
      return run(Type<float>{}, HalfArray{static_cast<const uint16_t*>(x.data), x.dtype == DType::bfloat16});
    default: return run(Type<int64_t>{}, IntegerArray{x.data, x.dtype});
  }
}

void argmax_cuda(const ArgParams& p, const KernelArgs& args) { search_axis(p.axis, args, true, "argmax"); }
void argmin_cuda(const ArgParams& p, const KernelArgs& args) { search_axis(p.axis, args, false, "argmin"); }
void argmax_channel_cuda(const KernelArgs& args) { search_axis(1, args, true, "argmax_channel"); }

// ---- running sums -----------------------------------------------------------------------------------------------------

// The sum of a thread's value and those of the threads before it in the block.
template <class A>
__device__ A scan_block(A value) {
  __shared__ A of_warps[kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const A before = __shfl_up_sync(kAllLanes, value, distance);
    if (lane >= distance) value += before;
  }
  if (lane == kWarp - 1) of_warps[warp] = value;
  __syncthreads();
  A before = 0;
  for (int i = 0; i < warp; ++i) before += of_warps[i];
  __syncthreads();
  return before + value;
}

template <class A, class Input, class Output>
__global__ void cumulate(Lines lines, Input from, Output to, bool backwards) {
  const auto place = [&](int64_t first, int64_t i) {
    return lines.at(first, backwards ? lines.size - 1 - i : i);
  };
  if (blockDim.x == 1) {  // a thread a line
    return each_line(lines, [&](int64_t, int64_t first) {
      A sum = 0;
      for (int64_t i = 0; i < lines.size; ++i) {
        const int64_t at = place(first, i);
        sum += static_cast<A>(from[at]);
        to.set(at, sum);
      }
    });
  }
  __shared__ A last;
  each_line(lines, [&](int64_t, int64_t first) {  // a block a line
    A carried = 0;
    for (int64_t begin = 0; begin < lines.size; begin += blockDim.x) {
      const int64_t i = begin + threadIdx.x;
      const A own = i < lines.size ? static_cast<A>(from[place(first, i)]) : A(0);
      const A sum = carried + scan_block(own);
      if (i < lines.size) to.set(place(first, i), sum);
      if (threadIdx.x == blockDim.x - 1) last = sum;
      __syncthreads();
      carried = last;
      __syncthreads();
    }
  });
}

void cumulate_array(const CumsumParams& p, const KernelArgs& args, const Shape& shape, bool backwards) {
  const TensorView& out = args.out[0];
  TensorView in = args.in[0];
  if (in.dtype != out.dtype) {
    convert_array(in, out, stream_of(args));
    in.data = out.data;
  }
  const AxisSplit split(shape, p.axis, "cumsum");
  const Lines lines(split);
  const Grid grid = lines.grid_with(split.inner > 1 || split.size <= kWarp ? 1 : 256);
  if (is_floating(out.dtype)) {
    AnyArray from(out);
    from.data = in.data;
    launch(cumulate<double, AnyArray, MutableAnyArray>, grid, stream_of(args), lines, from,
           MutableAnyArray(out), backwards);
  } else {
    launch(cumulate<int64_t, IntegerArray, MutableIntegerArray>, grid, stream_of(args), lines,
           IntegerArray{in.data, out.dtype}, MutableIntegerArray{out.data, out.dtype}, backwards);
  }
}

void cumsum_cuda(const CumsumParams& p, const KernelArgs& args) {
  cumulate_array(p, args, args.in[0].shape, false);
}
void backward_cumsum_cuda(const CumsumParams& p, const KernelArgs& args) {
  cumulate_array(p, args, args.out[0].shape, true);
}

}  // namespace

void kernels_lines_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<argmax_cuda>("argmax", "argmax_cuda", gpu);
  list.kernel<argmin_cuda>("argmin", "argmin_cuda", gpu);
  list.kernel<argmax_channel_cuda>("argmax_channel", "argmax_cuda", gpu);
  list.kernel<cumsum_cuda>("_np_cumsum", "cumsum_cuda", gpu);
  list.kernel<backward_cumsum_cuda>("_backward_np_cumsum", "backward_cumsum_cuda", gpu);
}

}  // namespace loomix::ops
