// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/elemwise.h"
#include "ops/table.h"

// Operators that copy: conversions, identities, losses.
namespace loomix::ops {
namespace {

template <class P>
OpBuilder<P> describe(OpTable& table, const char* name, const char* doc) {
  auto builder = table.add<P>(name, {"data"}).doc(doc);
  builder.one_shape();
  return builder;
}

template <class P>
OpBuilder<P> describe_identity(OpTable& table, const char* name, const char* doc) {
  auto builder = describe<P>(table, name, doc);
  builder.inplace(0, 0).identity(0, 0);
  return builder;
}

// The gradient has the type of the input again.
template <class P>
void cast_back(const P&, GradBuilder& g) {
  g.set(0, g.call1("_cast_like", {g.grad_of(0), g.in(0)}));
}

void amp_cast_type(const AmpCastParams& p, TypeInfer& t) {
  if (t.in(0) == DType::unknown) return;
  t.set_out(0, is_floating(t.in(0)) ? p.dtype : t.in(0));
}

// By what a type can hold: bfloat16 reaches as far as float32.
int width(DType dtype) {
  switch (dtype) {
    case DType::float64: return 3;
    case DType::float32: return 2;
    case DType::bfloat16: return 1;
    default: return 0;
  }
}

void amp_multicast_type(const AmpMulticastParams& p, TypeInfer& t) {
  DType chosen = DType::unknown;
  for (int i = 0; i < t.num_in(); ++i) {
    if (t.in(i) == DType::unknown) return;
    if (!is_floating(t.in(i))) continue;
    const bool better = chosen == DType::unknown ||
                        (p.cast_narrow ? width(t.in(i)) < width(chosen) : width(t.in(i)) > width(chosen));
    if (better) chosen = t.in(i);
  }
  for (int i = 0; i < t.num_in(); ++i) t.set_out(i, is_floating(t.in(i)) ? chosen : t.in(i));
}

void each_shape(const AmpMulticastParams&, ShapeInfer& s) {
  for (int i = 0; i < s.num_in(); ++i) s.tie({i}, {i});
}

void register_casts(OpTable& table) {
  describe<CastParams>(table, "Cast", "Converts the elements to another type.")
      .aliases({"cast"})
      .infer_type([](const CastParams& p, TypeInfer& t) { t.set_out(0, p.dtype); })
      .gradient(cast_back<CastParams>);
  describe<AmpCastParams>(table, "amp_cast", "Converts floating elements to another floating type.")
      .infer_type(amp_cast_type)
      .gradient(cast_back<AmpCastParams>);
  table.add<AmpMulticastParams>("amp_multicast")
      .doc("Converts floating inputs to the widest type among them.")
      .variadic("data", "num_outputs", &AmpMulticastParams::num_outputs)
      .output("output")
      .num_outputs([](const AmpMulticastParams& p) { return p.num_outputs; })
      .infer_shape(each_shape)
      .infer_type(amp_multicast_type)
      .gradient([](const AmpMulticastParams& p, GradBuilder& g) {
        for (int i = 0; i < p.num_outputs; ++i) {
          if (g.has_grad_of(i)) g.set(i, g.call1("_cast_like", {g.grad_of(i), g.in(i)}));
        }
      });
  table.add_hidden<NoParams>("_cast_like", {"data", "like"})
      .shape_of(0)
      .infer_type([](const NoParams&, TypeInfer& t) { t.set_out(0, t.in(1)); })
      .shape_only(1)
      .elementwise()
      .gradient_op("_cast_like", {head(0), input(0)});
}

void register_losses(OpTable& table) {
  describe_identity<NoParams>(table, "make_loss", "Marks data as a loss: its gradient is one.")
      .aliases({"_sparse_make_loss"})
      .output("loss")
      .loss()
      .gradient_op("ones_like", {input(0)});
  describe_identity<MakeLossParams>(table, "MakeLoss",
                                    "Marks data as a loss: its gradient is grad_scale, normalised.")
      .loss()
      .gradient_op("_backward_MakeLoss", {input(0)});
  describe<MakeLossParams>(table, "_backward_MakeLoss", "").hidden().zero_gradient();
}

}  // namespace

void register_cast(OpTable& table) {
  register_casts(table);
  register_losses(table);
  describe_identity<NoParams>(table, "_copy", "A copy of data.")
      .aliases({"identity"})
      .gradient_by(pass_gradient);
  describe_identity<NoParams>(table, "BlockGrad", "data, through which no gradient flows.")
      .aliases({"_sparse_stop_gradient", "stop_gradient"})
      .zero_gradient();
  table.add<NoParams>("_identity_with_attr_like_rhs", {"lhs", "rhs"})
      .doc("lhs, of the shape of rhs.")
      .one_shape()
      .infer_type([](const NoParams&, TypeInfer& t) {
        t.default_in(0, t.in(1));
        t.tie({0});
        t.default_in(1, t.in(0));
      })
      .inplace(0, 0)
      .identity(0, 0)
      .shape_only(1)
      .gradient_by(pass_gradient);
  const auto register_filled = [&](const char* name, const char* doc) {
    auto builder = describe<NoParams>(table, name, doc);
    builder.shape_only(0).zero_gradient();
    return builder;
  };
  register_filled("zeros_like", "Zeros of the shape and type of data.")
      .aliases({"_sparse_zeros_like"})
      .fill([](const NoParams&) { return 0.0; });
  register_filled("ones_like", "Ones of the shape and type of data.").fill([](const NoParams&) {
    return 1.0;
  });
}

}  // namespace loomix::ops
