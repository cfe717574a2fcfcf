// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/elemwise/apply.h"
#include "ops/elemwise/binary.h"
#include "ops/elemwise/elemwise.h"

// Operators made of several loops over blocks that stay in the cache.
namespace loomix::ops {
namespace {

// fn(begin, count) for blocks of kLoopBlock elements.
template <class Fn>
void for_blocks(const KernelArgs& args, int64_t size, Fn&& fn) {
  parallel_blocks(args, size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kLoopBlock) fn(i, std::min(kLoopBlock, end - i));
  });
}

}  // namespace

double clip_bound(double bound, DType dtype) {
  if (is_floating(dtype) || dtype == DType::boolean) return bound;
  return dispatch_numeric(dtype, "clip", [&]<class T>(Type<T>) {
    const double low = static_cast<double>(std::numeric_limits<T>::lowest());
    const double high = static_cast<double>(std::numeric_limits<T>::max());
    return bound < low ? low : bound > high ? high : bound;
  });
}

void clip_cpu(const ClipParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const Number low(clip_bound(p.a_min, y.dtype), y.dtype);
  const Number high(clip_bound(p.a_max, y.dtype), y.dtype);
  for_blocks(args, y.size(), [&](int64_t i, int64_t count) {
    char* to = mutable_element(y, i);
    binary_row(binary_code<fn::Maximum>, y.dtype, Spread::right, element(args.in[0], i), low.bytes, to,
               count);
    binary_row(binary_code<fn::Minimum>, y.dtype, Spread::right, to, high.bytes, to, count);
  });
}

void hard_sigmoid_cpu(const HardSigmoidParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const Number slope(p.alpha, y.dtype);
  const Number shift(p.beta, y.dtype);
  const Number zero(0, y.dtype);
  const Number one(1, y.dtype);
  for_blocks(args, y.size(), [&](int64_t i, int64_t count) {
    char* to = mutable_element(y, i);
    binary_row(binary_code<fn::Mul>, y.dtype, Spread::right, element(args.in[0], i), slope.bytes, to, count);
    binary_row(binary_code<fn::Add>, y.dtype, Spread::right, to, shift.bytes, to, count);
    binary_row(binary_code<fn::Maximum>, y.dtype, Spread::right, to, zero.bytes, to, count);
    binary_row(binary_code<fn::Minimum>, y.dtype, Spread::right, to, one.bytes, to, count);
  });
}

void add_n_cpu(const AddNParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  if (p.num_args == 1) return apply_convert(args.in[0], y, args);
  for_blocks(args, y.size(), [&](int64_t i, int64_t count) {
    if (!is_half(y.dtype)) {
      char* to = mutable_element(y, i);
      const void* sum = element(args.in[0], i);
      for (int k = 1; k < p.num_args; ++k, sum = to) {
        binary_row(binary_code<fn::Add>, y.dtype, Spread::none, sum, element(args.in[k], i), to, count);
      }
      return;
    }
    alignas(64) float sum[kLoopBlock];
    alignas(64) float term[kLoopBlock];
    convert_row(y.dtype, element(args.in[0], i), DType::float32, sum, count);
    for (int k = 1; k < p.num_args; ++k) {
      convert_row(y.dtype, element(args.in[k], i), DType::float32, term, count);
      binary_row(binary_code<fn::Add>, DType::float32, Spread::none, sum, term, sum, count);
    }
    convert_row(DType::float32, sum, y.dtype, mutable_element(y, i), count);
  });
}

void backward_make_loss_cpu(const MakeLossParams& p, const KernelArgs& args) {
  const TensorView& data = args.in[0];
  double scale = p.grad_scale;
  if (p.normalization == MakeLossNormalization::batch && data.shape.ndim() > 0) {
    // As in MXNet, a batch counts all axes but the last one.
    scale /= static_cast<double>(data.shape.size_between(0, data.shape.ndim() - 1));
  } else if (p.normalization == MakeLossNormalization::valid) {
    const int64_t valid = dispatch_numeric(data.dtype, "MakeLoss", [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(data.data);
      int64_t count = 0;
      for (int64_t i = 0; i < data.size(); ++i) count += static_cast<float>(x[i]) > p.valid_thresh;
      return count;
    });
    scale /= static_cast<double>(std::max<int64_t>(valid, 1));
  }
  apply_fill(scale, args.out[0], args);
}

void amp_multicast_cpu(const AmpMulticastParams& p, const KernelArgs& args) {
  for (int i = 0; i < p.num_outputs; ++i) {
    if (args.req[i] != Req::null) apply_convert(args.in[i], args.out[i], args);
  }
}

}  // namespace loomix::ops
