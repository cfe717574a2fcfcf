// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/leaky_relu.h"

#include <limits>

#include "ops/activation/leaky_relu_loops.h"
#include "ops/elemwise/apply.h"
#include "ops/isa.h"
#include "ops/lane_sums.h"
#include "ops/random/philox.h"
#include "ops/table.h"

namespace loomix::ops {

namespace {

DType computed_in(DType dtype) {
  return dispatch_floating(dtype, "LeakyReLU", []<class T>(Type<T>) { return dtype_of<Accum<T>>(); });
}

const LeakyLoops& loops_of(LeakyType type, DType dtype, bool own_slopes) {
  const LeakyTable& table = best_loops<LeakyTable>();
  const auto i = static_cast<size_t>(type);
  if (dtype == DType::float64) return (own_slopes ? table.f64_slopes : table.f64)[i];
  return (own_slopes ? table.f32_slopes : table.f32)[i];
}

// A stretch of an array in the type that is computed in: halves pass through a block of floats.
class Stretch {
 public:
  const void* read(const TensorView& x, int64_t first, int64_t count) {
    if (!is_half(x.dtype)) return element(x, first);
    convert_row(x.dtype, element(x, first), DType::float32, block_, count);
    return block_;
  }
  void* target(const TensorView& y, int64_t first) {
    return is_half(y.dtype) ? static_cast<void*>(block_) : mutable_element(y, first);
  }
  void finish(const TensorView& y, int64_t first, int64_t count) {
    if (is_half(y.dtype)) convert_row(DType::float32, block_, y.dtype, mutable_element(y, first), count);
  }

 private:
  alignas(64) float block_[kLoopBlock];
};

// The slopes of elements of the data, which is seen as (outer, channels, inner).
class SlopeReader {
 public:
  // Of all elements.
  SlopeReader(double slope, DType dtype) : most_(longest(dtype)) {
    convert_row(DType::float64, &slope, computed_in(dtype), one_, 1);
  }
  // Gamma's, or one an element.
  SlopeReader(const TensorView& slopes, Slopes kind, const Shape& data)
      : most_(longest(slopes.dtype)), slopes_(&slopes), kind_(kind) {
    if (kind != Slopes::gamma) return;
    channels_ = slopes.size();
    if (data.ndim() > 1) inner_ = data.size_between(2, data.ndim());
    if (channels_ == 1) inner_ = data.size();
  }

  // Calls fn(first, count, slopes, own) for pieces of [begin, end), with one slope for the piece or one an element of its
  // own.
  template <class Fn>
  void each_piece(int64_t begin, int64_t end, Fn&& fn) const {
    Stretch stretch;
    for (int64_t i = begin; i < end;) {
      int64_t count = std::min(most_, end - i);
      if (slopes_ == nullptr) {
        fn(i, count, one_, false);
      } else if (kind_ != Slopes::gamma) {
        fn(i, count, stretch.read(*slopes_, i, count), true);
      } else if (inner_ == 1) {
        count = std::min(count, channels_ - i % channels_);
        fn(i, count, stretch.read(*slopes_, i % channels_, count), true);
      } else {
        count = std::min(count, inner_ - i % inner_);
        fn(i, count, stretch.read(*slopes_, i / inner_ % channels_, 1), false);
      }
      i += count;
    }
  }

 private:
  // Elements of a piece, so that halves fit into a Stretch.
  static int64_t longest(DType dtype) {
    return is_half(dtype) ? kLoopBlock : std::numeric_limits<int64_t>::max();
  }

  int64_t most_;
  alignas(8) char one_[8] = {};
  const TensorView* slopes_ = nullptr;
  Slopes kind_ = Slopes::attribute;
  int64_t channels_ = 1, inner_ = 1;
};

// The slopes that the kernel's input `at` has, or the attribute.
SlopeReader slopes_for(const LeakyReluParams& p, const KernelArgs& args, size_t at, const Shape& data) {
  const Slopes kind = slopes_of(p.act_type);
  if (kind == Slopes::attribute) return {p.slope, args.out[0].dtype};
  return {args.in[at], kind, data};
}

// Calls run(loops, read, slope, out, count) for pieces of the output; read(i) gives the piece of input i.
template <class Run>
void compute(const LeakyReluParams& p, const SlopeReader& slopes, const KernelArgs& args, Run&& run) {
  const TensorView& y = args.out[0];
  const DType dtype = computed_in(y.dtype);
  parallel_blocks(args, y.size(), [&](int64_t begin, int64_t end) {
    Stretch in[3], out;
    slopes.each_piece(begin, end, [&](int64_t first, int64_t count, const void* slope, bool own) {
      const auto read = [&](size_t i) { return in[i].read(args.in[i], first, count); };
      run(loops_of(p.act_type, dtype, own), read, slope, out.target(y, first), count);
      out.finish(y, first, count);
    });
  });
}

void forward(const LeakyReluParams& p, const SlopeReader& slopes, const KernelArgs& args) {
  compute(p, slopes, args,
          [](const LeakyLoops& loops, auto&& read, const void* slope, void* y, int64_t count) {
            loops.forward(read(0), slope, y, count);
          });
}

template <class A>
void random_forward(const LeakyReluParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const DType dtype = computed_in(y.dtype);
  const A low = static_cast<A>(p.lower_bound), width = static_cast<A>(p.upper_bound) - low;
  parallel_blocks(args, y.size(), [&](int64_t begin, int64_t end) {
    Stretch x, out;
    for (int64_t first = begin; first < end; first += kLoopBlock) {
      const int64_t count = std::min(kLoopBlock, end - first);
      A slopes[kLoopBlock];
      philox_words(args.random, first, first + count, [&](int64_t i, uint32_t word) {
        slopes[i - first] = low + width * static_cast<A>(unit_float(word));
      });
      loops_of(p.act_type, dtype, true)
          .forward(x.read(args.in[0], first, count), slopes, out.target(y, first), count);
      out.finish(y, first, count);
      if (args.out[1]) convert_row(dtype, slopes, y.dtype, mutable_element(args.out[1], first), count);
    }
  });
}

// data, gamma (prelu: one slope, or one a channel) -> output; rrelu has the slopes as second output.
void leaky_relu_cpu(const LeakyReluParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  if (slopes_of(p.act_type) != Slopes::random)
    return forward(p, slopes_for(p, args, 1, args.in[0].shape), args);
  if (args.training) {
    return args.out[0].dtype == DType::float64 ? random_forward<double>(p, args)
                                               : random_forward<float>(p, args);
  }
  const double middle = (static_cast<double>(p.lower_bound) + static_cast<double>(p.upper_bound)) / 2;
  if (args.out[1]) apply_fill(middle, args.out[1], args);
  forward(p, {middle, args.out[0].dtype}, args);
}

// grad, data, slopes (prelu: gamma, rrelu: the second output) -> gradient of the data.
void leaky_relu_backward_cpu(const LeakyReluParams& p, const KernelArgs& args) {
  compute(p, slopes_for(p, args, 2, args.in[1].shape), args,
          [](const LeakyLoops& loops, auto&& read, const void* slope, void* y, int64_t count) {
            loops.backward(read(0), read(1), slope, y, count);
          });
}

// head, grad, data -> head grad f''(data).
void leaky_relu_backward_twice_cpu(const LeakyReluParams& p, const KernelArgs& args) {
  compute(p, {p.slope, args.out[0].dtype}, args,
          [](const LeakyLoops& loops, auto&& read, const void* slope, void* y, int64_t count) {
            loops.backward_twice(read(0), read(1), read(2), slope, y, count);
          });
}

// grad, data, gamma (shape only) -> gradient of gamma.
void leaky_relu_gamma_cpu(const KernelArgs& args) {
  const Shape& shape = args.in[1].shape;
  const int64_t size = args.in[1].size(), channels = args.out[0].size();
  const int64_t inner = channels == 1 ? size : shape.ndim() > 1 ? shape.size_between(2, shape.ndim()) : 1;
  const int64_t outer = size == 0 ? 0 : size / (channels * inner);
  const int64_t a_channel = std::max<int64_t>(1, outer * inner);
  dispatch_floating(args.out[0].dtype, "_backward_LeakyReLU_gamma", [&]<class T>(Type<T>) {
    const T* grad = args.in[0].as<T>();
    const T* in = args.in[1].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const auto share = [=](int64_t i) {
      const auto x = static_cast<double>(in[i]);
      const double product = x * static_cast<double>(grad[i]);
      return x > 0 ? 0.0 : product;
    };
    engine::parallel_for(*args.context, channels, loop_grain(a_channel), [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += kLoopBlock) {
        const int64_t last = std::min(end, first + kLoopBlock);
        double sums[kLoopBlock] = {};
        for (int64_t o = 0; o < outer; ++o) {
          const int64_t row = (o * channels + first) * inner;
          if (inner == 1) {
#pragma omp simd
            for (int64_t c = 0; c < last - first; ++c) sums[c] += share(row + c);
            continue;
          }
          for (int64_t c = 0; c < last - first; ++c)
            sums[c] += sum_run<double>(row + c * inner, inner, share);
        }
        for (int64_t c = first; c < last; ++c) out[c] = T(static_cast<Accum<T>>(sums[c - first]));
      }
    });
  });
}

}  // namespace

void kernels_leaky_relu(OpTable& table) { table.kernel<leaky_relu_cpu>("LeakyReLU", "leaky_relu_cpu"); }

void gradients_leaky_relu(OpTable& table) {
  table.kernel<leaky_relu_backward_cpu>("_backward_LeakyReLU", "leaky_relu_backward_cpu");
  table.kernel<leaky_relu_gamma_cpu>("_backward_LeakyReLU_gamma", "leaky_relu_gamma_cpu");
  table.kernel<leaky_relu_backward_twice_cpu>("_backward_LeakyReLU_twice", "leaky_relu_backward_twice_cpu");
}

}  // namespace loomix::ops
