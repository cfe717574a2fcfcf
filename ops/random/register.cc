// SPDX-License-Identifier: Apache-2.0
#include "base/tuple_text.h"
#include "ops/random/pdf.h"
#include "ops/random/random.h"
#include "ops/shape_rule.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// How much of the counter a kernel may use: two words or one stream an element.
template <class P>
uint64_t counters(const P&, const KernelSpec& spec) {
  return 2 * static_cast<uint64_t>(spec.out[0].size());
}

template <class P>
void draws(OpBuilder<P> op) {
  op.types(kFloatingTypes).uses_rng(counters<P>).element_cost(20).zero_gradient();
}

template <class P>
void target_shape(const P& p, ShapeInfer& s) {
  s.set_out(0, shape_of_attribute(p.shape.value_or(Shape{1})));
}

Shape joined(const Shape& outer, const Shape& block) {
  Shape shape = outer;
  for (int64_t size : block) shape.push_back(size);
  return shape;
}

void sample_shape(const SampleParams& p, ShapeInfer& s) {
  s.tie_inputs(0, s.num_in(), {});
  if (s.in(0).ndim_known()) s.set_out(0, joined(s.in(0), p.shape));
}

void sample_type(const SampleParams& p, TypeInfer& t) {
  t.tie_inputs(0, t.num_in(), {});
  if (p.dtype || t.in(0) != DType::unknown) t.set_out(0, p.dtype.value_or(t.in(0)));
}

template <class P>
void target_type(const P& p, TypeInfer& t) {
  if (p.dtype || t.out(0) == DType::unknown) t.set_out(0, p.dtype.value_or(DType::float32));
}

template <class D>
void register_distribution(OpTable& table, std::initializer_list<std::string_view> aliases,
                           std::initializer_list<std::string_view> parameters) {
  const std::string name = D::name;
  draws(table.add<DrawParams<D>>("_random_" + name)
            .doc(D::doc)
            .aliases(aliases)
            .aliases({"random_" + name})
            .infer_shape(target_shape<DrawParams<D>>)
            .infer_type(target_type<DrawParams<D>>));
  draws(table.add<LikeParams<D>>("_random_" + name + "_like", {"data"})
            .doc(std::string(D::doc) + " Shape and type are those of `data`.")
            .shape_only(0)
            .one_shape());
  draws(table.add<SampleParams>("_sample_" + name, parameters)
            .doc(std::string(D::doc) + " Each element of the parameters gives a block of `shape`.")
            .aliases({"sample_" + name})
            .infer_shape(sample_shape)
            .infer_type(sample_type));
}

Shape multinomial_shape(const MultinomialParams& p, const Shape& data, const char* who) {
  LOOMIX_CHECK(data.ndim() >= 1, ShapeError,
               "[{}] data has shape (); expected probabilities along a last axis.", who);
  Shape shape = joined(Shape(data.dims().first(static_cast<size_t>(data.ndim() - 1))), p.shape);
  if (shape.ndim() == 0) shape.push_back(1);
  return shape;
}

}  // namespace

void register_random(OpTable& table) {
  register_distribution<Uniform>(table, {"uniform"}, {"low", "high"});
  register_distribution<Normal>(table, {"normal"}, {"mu", "sigma"});
  register_distribution<Gamma>(table, {}, {"alpha", "beta"});
  register_distribution<Exponential>(table, {}, {"lam"});
  register_distribution<Poisson>(table, {}, {"lam"});
  register_distribution<NegativeBinomial>(table, {}, {"k", "p"});
  register_distribution<GeneralizedNegativeBinomial>(table, {}, {"mu", "alpha"});
  table.add<RandintParams>("_random_randint")
      .doc("Draws integers uniformly from [low, high).")
      .aliases({"random_randint"})
      .infer_shape(target_shape<RandintParams>)
      .infer_type([](const RandintParams& p, TypeInfer& t) { t.set_out(0, p.dtype.value_or(DType::int32)); })
      .types(kNumericTypes)
      .uses_rng(counters<RandintParams>)
      .element_cost(10)
      .zero_gradient();
  table.add<MultinomialParams>("_sample_multinomial", {"data"})
      .doc("Draws indices along the last axis with the probabilities that `data` holds there.")
      .aliases({"sample_multinomial"})
      .outputs({"output0", "output1"})
      .num_outputs([](const MultinomialParams& p) { return p.get_prob ? 2 : 1; })
      .infer_shape([](const MultinomialParams& p, ShapeInfer& s) {
        if (!s.in(0).ndim_known()) return;
        for (int i = 0; i < s.num_out(); ++i) s.set_out(i, multinomial_shape(p, s.in(0), s.who()));
      })
      .infer_type([](const MultinomialParams& p, TypeInfer& t) {
        t.default_in(0);
        t.set_out(0, p.dtype);
        if (t.num_out() == 2) t.set_out(1, t.in(0));
      })
      .types(kFloatingTypes)
      .output_types(0, kNumericTypes)
      .uses_rng(counters<MultinomialParams>)
      .element_cost(50)
      .gradient([](const MultinomialParams& p, GradBuilder& g) {
        if (p.get_prob) g.set(0, g.call1("_backward_sample_multinomial", {g.grad_of(1), g.in(0), g.out(0)}));
      });
  table.add_hidden<NoParams>("_backward_sample_multinomial", {"grad", "data", "sample"})
      .shape_of(1)
      .infer_type([](const NoParams&, TypeInfer& t) {
        t.tie({0, 1});
      })
      .types(kFloatingTypes)
      .input_types(2, kNumericTypes)
      .zero_gradient();
  table.add<NoParams>("_shuffle", {"data"})
      .doc("Puts the slices along the first axis into random order.")
      .aliases({"shuffle"})
      .one_shape()
      .uses_rng([](const NoParams&, const KernelSpec&) { return uint64_t{1}; })
      .zero_gradient();
  table.add<ZipfianParams>("_sample_unique_zipfian")
      .doc(
          "Draws rows of different classes, class k with probability log((k + 2) / (k + 1)) / log(range_max "
          "+ 1), and counts the draws that each row took.")
      .outputs({"output0", "output1"})
      .infer_shape([](const ZipfianParams& p, ShapeInfer& s) {
        LOOMIX_CHECK(p.shape && p.shape->ndim() == 2 && (*p.shape)[0] >= 0 && (*p.shape)[1] >= 0, ValueError,
                     "[{}] shape is {}; expected two sizes, rows and their length.", s.who(),
                     p.shape ? tuple_text(*p.shape) : "None");
        LOOMIX_CHECK((*p.shape)[1] <= p.range_max, ValueError,
                     "[{}] shape {} asks for rows of {} different classes of {}.", s.who(),
                     tuple_text(*p.shape), (*p.shape)[1], p.range_max);
        s.set_out(0, *p.shape);
        s.set_out(1, Shape{(*p.shape)[0]});
      })
      .infer_type([](const ZipfianParams&, TypeInfer& t) {
        for (int i : {0, 1}) t.set_out(i, DType::int64);
      })
      .uses_rng(counters<ZipfianParams>)
      .zero_gradient();
}

}  // namespace loomix::ops
