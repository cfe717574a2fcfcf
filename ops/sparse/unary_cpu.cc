// SPDX-License-Identifier: Apache-2.0
#include <tuple>

#include "ops/contrib/contrib.h"
#include "ops/elemwise/apply.h"
#include "ops/elemwise/binary.h"
#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/scalar.h"
#include "ops/elemwise/unary.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

// Functions of one array that are zero at zero: they work on the stored values and leave the places as they are.
namespace loomix::ops {
namespace {

template <class Fn>
void each_stored(const KernelArgs& args, Fn&& fn) {
  const Storage& from = input_storage(args, 0);
  Storage& to = output_storage(args, 0);
  copy_places(from, to, args.out[0].shape, args.out[0].dtype);
  fn(stored_values(from, args.in[0]), stored_values(to, args.out[0]));
}

// fn(arguments of a kernel for dense arrays)
template <class Fn>
void on_stored(const KernelArgs& args, Fn&& fn) {
  each_stored(args, [&](const TensorView& x, const TensorView& y) {
    const TensorView in[] = {x};
    const TensorView out[] = {y};
    KernelArgs dense = args;
    dense.in = in;
    dense.out = out;
    fn(dense);
  });
}

Support keeps(const KernelSpec& spec, bool zero_at_zero) {
  if (spec.in_stype(0) == StorageType::dense || spec.out_stype(0) != spec.in_stype(0))
    return Support::no("input and output differ in storage type");
  if (spec.req[0] == Req::add) return Support::no("it cannot add to its output");
  if (!zero_at_zero) return Support::no("what is not stored would not stay zero");
  return Support::yes();
}

template <Unary op>
void unary_sparse(const KernelArgs& args) {
  each_stored(args, [&](const TensorView& x, const TensorView& y) { apply_unary(op, x, y, args); });
}

Support unary_keeps(const KernelSpec& spec) { return keeps(spec, true); }

template <class F>
bool zero_at_zero() {
  const double zero = 0;
  double value = 1;
  unary_row(unary_code<F>, DType::float64, &zero, &value, 1);
  return value == 0;
}

// Of those that are zero at zero these stay dense, as in MXNet.
bool stays_dense(std::string_view name) {
  return name.starts_with('_') || name == "erf" || name == "erfinv" || name == "softsign";
}

template <class F, class Gradient>
void add_unary(KernelList& table, const UnaryOp<F, Gradient>& op) {
  if (stays_dense(op.name) || !zero_at_zero<F>()) return;
  add_sparse<unary_sparse<unary_code<F>>, unary_keeps>(table, op.name, "unary_sparse_cpu");
}

template <class P, Binary op, Spread side>
void scalar_sparse(const P& p, const KernelArgs& args) {
  each_stored(
      args, [&](const TensorView& x, const TensorView& y) { apply_scalar(op, side, x, p.scalar, y, args); });
}

template <class P, Binary op, Spread side>
Support scalar_keeps(const P& p, const KernelSpec& spec) {
  const double zero = 0, scalar = p.scalar;
  double value = 1;
  const bool right = side == Spread::right;
  binary_row(op, DType::float64, Spread::none, right ? &zero : &scalar, right ? &scalar : &zero, &value, 1);
  return keeps(spec, value == 0);
}

template <class F, Spread side, class P, class Gradient>
void add_scalar(KernelList& table, const ScalarOp<F, side, P, Gradient>& op) {
  // With these MXNet's results are dense, whatever the number.
  constexpr bool dense = std::is_same_v<F, fn::Power> || std::is_same_v<F, fn::Mod> ||
                         std::is_same_v<F, fn::Hypot> || !std::is_same_v<P, ScalarParams>;
  if constexpr (!dense) {
    add_sparse<scalar_sparse<P, binary_code<F>, side>, scalar_keeps<P, binary_code<F>, side>>(
        table, op.name, "scalar_sparse_cpu");
  }
}

void clip_sparse(const ClipParams& p, const KernelArgs& args) {
  on_stored(args, [&](const KernelArgs& dense) { clip_cpu(p, dense); });
}

Support clip_keeps(const ClipParams& p, const KernelSpec& spec) {
  return keeps(spec, p.a_min <= 0 && p.a_max >= 0);
}

void quadratic_sparse(const QuadraticParams& p, const KernelArgs& args) {
  on_stored(args, [&](const KernelArgs& dense) { quadratic_cpu(p, dense); });
}

Support quadratic_keeps(const QuadraticParams& p, const KernelSpec& spec) { return keeps(spec, p.c == 0); }

}  // namespace

void kernels_of_stored_values(KernelList& table) {
  std::apply([&](const auto&... op) { (add_unary(table, op), ...); }, kUnaryOps);
  std::apply([&](const auto&... op) { (add_scalar(table, op), ...); }, kScalarOps);
  add_sparse<scalar_sparse<ScalarParams, binary_code<fn::Add>, Spread::right>, unary_keeps>(
      table, "_scatter_plus_scalar", "scalar_sparse_cpu");
  add_sparse<scalar_sparse<ScalarParams, binary_code<fn::Sub>, Spread::right>, unary_keeps>(
      table, "_scatter_minus_scalar", "scalar_sparse_cpu");
  add_sparse<clip_sparse, clip_keeps>(table, "clip", "clip_sparse_cpu");
  add_sparse<quadratic_sparse, quadratic_keeps>(table, "_contrib_quadratic", "quadratic_sparse_cpu");
}

void kernels_sparse_unary(OpTable& table) { kernels_of_stored_values(table); }

}  // namespace loomix::ops
