// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <tuple>

#include "ops/elemwise/apply.h"
#include "ops/elemwise/binary.h"
#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/scalar.h"
#include "ops/elemwise/unary.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <Binary op>
void broadcast_cpu(const KernelArgs& args) {
  apply_broadcast(op, args.in[0], args.in[1], args.out[0], args);
}

void where_cpu(const KernelArgs& args) {
  const TensorView& condition = args.in[0];
  const TensorView& y = args.out[0];
  const int64_t row = condition.shape == y.shape ? 1 : y.size() / condition.size();
  dispatch_bits(condition.dtype, [&]<class C>(Type<C>) {
    const C all = std::numeric_limits<C>::max();
    const C counting = is_floating(condition.dtype) ? C(all >> 1) : all;  // bits: the sign of a zero does not
    dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
      const C* test = static_cast<const C*>(condition.data);
      const T* yes = static_cast<const T*>(args.in[1].data);
      const T* no = static_cast<const T*>(args.in[2].data);
      T* to = static_cast<T*>(y.data);
      if (row == 1) {
        parallel_blocks(args, y.size(), [&](int64_t begin, int64_t end) {
#pragma omp simd
          for (int64_t i = begin; i < end; ++i) {
            const T a = yes[i], b = no[i];  // both are read: a branch would be guessed wrongly
            to[i] = (test[i] & counting) != 0 ? a : b;
          }
        });
        return;
      }
      engine::parallel_each(*args.context, condition.size(), loop_grain(row), [&](int64_t i) {
        std::copy_n(((test[i] & counting) != 0 ? yes : no) + i * row, row, to + i * row);
      });
    });
  });
}

template <class F, class Gradient>
void add_unary(OpTable& table, const UnaryOp<F, Gradient>& op) {
  table.kernel<unary_cpu<unary_code<F>>>(op.name, "unary_cpu");
}

template <class F, class Left, class Right>
void add_binary(OpTable& table, const BinaryOp<F, Left, Right>& op) {
  table.kernel<elemwise_cpu<binary_code<F>>>(op.same, "elemwise_cpu");
  if (*op.broadcast != 0) {
    table.kernel<broadcast_cpu<binary_code<F>>>(op.broadcast, "broadcast_cpu");
  }
}

template <class F, Spread side, class P, class Gradient>
void add_scalar(OpTable& table, const ScalarOp<F, side, P, Gradient>& op) {
  table.kernel<scalar_cpu<P, binary_code<F>, side>>(op.name, "scalar_cpu");
}

}  // namespace

void kernels_elemwise_cpu(OpTable& table) {
  std::apply([&](const auto&... op) { (add_unary(table, op), ...); }, kUnaryOps);
  std::apply([&](const auto&... op) { (add_binary(table, op), ...); }, kBinaryOps);
  std::apply([&](const auto&... op) { (add_scalar(table, op), ...); }, kScalarOps);
  table.kernel<clip_cpu>("clip", "clip_cpu");
  table.kernel<hard_sigmoid_cpu>("hard_sigmoid", "hard_sigmoid_cpu");
  table.kernel<add_n_cpu>("add_n", "add_n_cpu");
  table.kernel<where_cpu>("where", "where_cpu");
  for (const char* op : {"Cast", "amp_cast", "_cast_like"}) table.kernel<convert_cpu>(op, "cast_cpu");
  table.kernel<amp_multicast_cpu>("amp_multicast", "amp_multicast_cpu");
  for (const char* op : {"_copy", "BlockGrad", "make_loss", "MakeLoss", "_identity_with_attr_like_rhs"})
    table.kernel<convert_cpu>(op, "copy_cpu");
  table.kernel<fill_cpu<0>>("zeros_like", "fill_cpu");
  table.kernel<fill_cpu<1>>("ones_like", "fill_cpu");
}

void gradients_elemwise_cpu(OpTable& table) {
  table.kernel<backward_make_loss_cpu>("_backward_MakeLoss", "make_loss_cpu");
}

}  // namespace loomix::ops
