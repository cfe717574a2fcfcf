// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/elemwise/loops.h"
#include "ops/kernel.h"
#include "ops/limits.h"

// Whole arrays by the loops of loops.h, over the cores that the task has.
namespace loomix::ops {

// fn(begin, end) over [0, count), split at multiples of kLoopBlock so that results do not depend on the cores.
template <class Fn>
void parallel_blocks(const KernelArgs& args, int64_t count, Fn&& fn) {
  engine::parallel_for(
      *args.context, (count + kLoopBlock - 1) / kLoopBlock, loop_grain(kLoopBlock),
      [&](int64_t begin, int64_t end) { fn(begin * kLoopBlock, std::min(end * kLoopBlock, count)); });
}

inline const char* element(const TensorView& view, int64_t i) {
  return static_cast<const char*>(view.data) + i * size_of(view.dtype);
}
inline char* mutable_element(const TensorView& view, int64_t i) {
  return static_cast<char*>(view.data) + i * size_of(view.dtype);
}

void apply_unary(Unary op, const TensorView& x, const TensorView& y, const KernelArgs& args);
void apply_binary(Binary op, const TensorView& a, const TensorView& b, const TensorView& y,
                  const KernelArgs& args);
// One operand is the number, converted to the array's type first.
void apply_scalar(Binary op, Spread side, const TensorView& x, double scalar, const TensorView& y,
                  const KernelArgs& args);
// The shapes of a and b broadcast to y's.
void apply_broadcast(Binary op, const TensorView& a, const TensorView& b, const TensorView& y,
                     const KernelArgs& args);
// y = x, converted to y's type; or repeated along the axes that x lacks or has once.
void apply_convert(const TensorView& x, const TensorView& y, const KernelArgs& args);
void apply_broadcast_copy(const TensorView& x, const TensorView& y, const KernelArgs& args);
// y = op(x, scalar), repeated likewise; x is computed with where it is read, in blocks.
void apply_broadcast_scalar(Binary op, const TensorView& x, double scalar, const TensorView& y,
                            const KernelArgs& args);
void apply_fill(double value, const TensorView& y, const KernelArgs& args);

// The same as kernels.
template <Unary op>
void unary_cpu(const KernelArgs& args) {
  apply_unary(op, args.in[0], args.out[0], args);
}
template <Binary op>
void elemwise_cpu(const KernelArgs& args) {
  apply_binary(op, args.in[0], args.in[1], args.out[0], args);
}
template <class P, Binary op, Spread side>
void scalar_cpu(const P& p, const KernelArgs& args) {
  apply_scalar(op, side, args.in[0], p.scalar, args.out[0], args);
}
template <int value>
void fill_cpu(const KernelArgs& args) {
  apply_fill(value, args.out[0], args);
}
inline void convert_cpu(const KernelArgs& args) { apply_convert(args.in[0], args.out[0], args); }

}  // namespace loomix::ops
