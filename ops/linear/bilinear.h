// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "ops/table.h"

// Operators linear in each of their first two inputs, which may add a third one, the bias. With f(a, b) come two more, for
// its gradients: fa(g, b, a) is shaped like a and fb(g, a, b) like b; of their third input only the shape is used. The
// three are closed under differentiation, so every order of gradient is a graph of them.
namespace loomix::ops {

struct Bilinear {
  const char* f;
  const char* fa;
  const char* fb;
  const char* bias = nullptr;  // the gradient to the bias
};

// a, b and f(a, b) among the arguments of f, fa or fb.
class BilinearShapes {
 public:
  // Numbers of inputs, or -1 for the output.
  BilinearShapes(ShapeInfer& s, int a, int b, int out) : s_(s), a_(a), b_(b), out_(out) {}
  const char* who() const { return s_.who(); }
  const Shape& a() const { return at(a_); }
  const Shape& b() const { return at(b_); }
  const Shape& out() const { return at(out_); }
  void set_a(const Shape& shape) { set(a_, shape); }
  void set_b(const Shape& shape) { set(b_, shape); }
  void set_out(const Shape& shape) { set(out_, shape); }

 private:
  const Shape& at(int place) const { return place < 0 ? s_.out(0) : s_.in(place); }
  void set(int place, const Shape& shape) { place < 0 ? s_.set_out(0, shape) : s_.set_in(place, shape); }
  ShapeInfer& s_;
  int a_, b_, out_;
};

// The attributes that were given; no_bias is on where there is such a field.
template <class P>
TextPairs without_bias(const AttrsBase& attrs) {
  if constexpr (!requires(P p) { p.no_bias; }) return attrs.given();
  TextPairs texts;
  for (const auto& pair : attrs.given()) {
    if (pair.first != "no_bias") texts.push_back(pair);
  }
  texts.emplace_back("no_bias", "1");
  return texts;
}

// Of the bias.
template <class P>
Shape bias_shape(const P& p) {
  if constexpr (requires { p.num_hidden; }) return {p.num_hidden};
  else return {p.num_filter};
}

// FullyConnected also takes a bias of one column, as MXNet's does.
template <class P>
constexpr bool kColumnBias = requires(P p) {
  p.num_hidden;
};

template <class P>
void infer_bias(const P& p, ShapeInfer& s, int place) {
  if constexpr (kColumnBias<P>) {
    if (s.in(place) == Shape{p.num_hidden, 1}) return;
  }
  s.set_in(place, bias_shape(p));
}

// Of f, with its bias.
template <class P, auto relate>
void infer_bilinear(const P& p, ShapeInfer& s) {
  BilinearShapes shapes(s, 0, 1, -1);
  relate(p, shapes);
  if constexpr (requires { p.no_bias; }) {
    if (!p.no_bias && s.in(0).ndim_known()) infer_bias(p, s, 2);  // with the weight
  }
}

// Registers f with something more at its end (ops/closed_operators.h), which has no gradient of its own.
template <class P, auto relate, auto cost>
void add_closed_bilinear(OpTable& table, const char* name, const char* a, const char* b) {
  table.add_hidden<P>(name, {a, b, "bias"})
      .last_input_if([](const P& p) { return !p.no_bias; })
      .types(kFloatingTypes)
      .cost(cost)
      .infer_shape(infer_bilinear<P, relate>);
}

// Registers f, fa, fb and the gradient to the bias; gives f. `relate(p, BilinearShapes&)` infers what a, b and f(a, b) say
// about each other, `cost` what each of the three takes.
template <class P, const Bilinear& ops, auto relate, auto cost = nullptr>
OpBuilder<P> add_bilinear(OpTable& table, const char* a, const char* b) {
  constexpr bool with_bias = requires(P p) { p.no_bias; };
  auto f = table.add<P>(ops.f, {a, b});
  f.infer_shape(infer_bilinear<P, relate>).gradient([](const P&, GradBuilder& g) {
    if (g.wants(0)) g.set(0, g.call1(ops.fa, {g.grad_of(0), g.in(1), g.in(0)}, g.attrs()));
    if (g.wants(1)) g.set(1, g.call1(ops.fb, {g.grad_of(0), g.in(0), g.in(1)}, g.attrs()));
    if constexpr (with_bias) {
      if (g.num_in() > 2 && g.wants(2)) {
        if constexpr (kColumnBias<P>) g.set(2, g.call1(ops.bias, {g.grad_of(0), g.in(2)}, g.attrs()));
        else g.set(2, g.call1(ops.bias, {g.grad_of(0)}, g.attrs()));
      }
    }
  });
  auto fa = table.add_hidden<P>(ops.fa, {"grad", b, a});
  fa.infer_shape([](const P& p, ShapeInfer& s) {
      s.set_in(2, s.out(0));
      BilinearShapes shapes(s, 2, 1, 0);
      relate(p, shapes);
      s.set_out(0, s.in(2));
    }).gradient([](const P&, GradBuilder& g) {
    const GradValue head = g.grad_of(0);
    if (g.wants(0)) g.set(0, g.call1(ops.f, {head, g.in(1)}, without_bias<P>(*g.attrs())));
    if (g.wants(1)) g.set(1, g.call1(ops.fb, {g.in(0), head, g.in(1)}, g.attrs()));
  });
  auto fb = table.add_hidden<P>(ops.fb, {"grad", a, b});
  fb.accumulates()
      .infer_shape([](const P& p, ShapeInfer& s) {
        s.set_in(2, s.out(0));
        BilinearShapes shapes(s, 1, 2, 0);
        relate(p, shapes);
        s.set_out(0, s.in(2));
      })
      .gradient([](const P&, GradBuilder& g) {
        const GradValue head = g.grad_of(0);
        if (g.wants(0)) g.set(0, g.call1(ops.f, {g.in(1), head}, without_bias<P>(*g.attrs())));
        if (g.wants(1)) g.set(1, g.call1(ops.fa, {g.in(0), head, g.in(1)}, g.attrs()));
      });
  fa.shape_only(2);
  fb.shape_only(2);
  for (OpBuilder<P>* op : {&f, &fa, &fb}) {
    op->types(kFloatingTypes);
    if constexpr (!std::is_null_pointer_v<decltype(cost)>)
      op->cost([](const P& p, const KernelSpec& spec) { return cost(p, spec); });
  }
  if constexpr (with_bias) {
    f.input("bias").last_input_if([](const P& p) { return !p.no_bias; });
    const auto gradient = [](auto op) { op.types(kFloatingTypes).accumulates(); };
    if constexpr (kColumnBias<P>) {
      gradient(table.add_hidden<P>(ops.bias, {"grad", "bias"})
                   .shape_only(1)
                   .infer_shape([](const P& p, ShapeInfer& s) {
                     s.set_in(1, s.out(0));
                     infer_bias(p, s, 1);
                     s.set_out(0, s.in(1));
                   }));
    } else {
      gradient(table.add_hidden<P>(ops.bias, {"grad"}).infer_shape([](const P& p, ShapeInfer& s) {
        s.set_out(0, bias_shape(p));
      }));
    }
  }
  return f;
}

}  // namespace loomix::ops
