// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/error.h"
#include "ops/families.h"
#include "ops/optimizer/update_params.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class P>
OpBuilder<P> add_update(OpTable& table, const char* name, std::vector<const char*> states, const char* doc) {
  auto op = table.add<P>(name, {"weight", "grad"}).doc(doc);
  for (const char* state : states) op.state(state);
  op.one_shape().types(kFloatingTypes).inplace(0, 0).no_symbol().element_cost(0.1);
  return op;
}

// Weight, gradient and output have one type; the states are float32.
void mixed_type(TypeInfer& t) {
  t.tie({0, 1});
  for (int i = 2; i < t.num_in(); ++i) t.set_in(i, DType::float32);
}

template <class P>
OpBuilder<P> add_mixed_update(OpTable& table, const char* name, std::vector<const char*> states,
                              const char* doc) {
  states.push_back("weight32");
  auto op = add_update<P>(table, name, std::move(states), doc);
  op.infer_type([](const P&, TypeInfer& t) { mixed_type(t); });
  return op;
}

// All arguments but the last `scalars` are shaped alike; those have one element.
void shape_with_scalars(ShapeInfer& s, int scalars) {
  const int arrays = s.num_in() - scalars;
  s.tie_inputs(0, arrays);
  for (int i = arrays; i < s.num_in(); ++i) {
    if (!s.in(i).ndim_known()) s.set_in(i, Shape{1});
    s.expect(i, !s.in(i).is_known() || s.in(i).size() == 1, "one element");
  }
}

template <class P>
int count_of(const P& p) {
  if constexpr (requires { p.num_weights; }) return p.num_weights;
  else return p.num_tensors;
}

// `stride` arrays for each of the weights, then `shared` ones.
void multi_shape(ShapeInfer& s, int stride, int shared) {
  const int count = s.num_out();
  for (int i = 0; i < count; ++i) s.tie_inputs(i * stride, (i + 1) * stride, {i});
  for (int i = s.num_in() - shared; i < s.num_in(); ++i) {
    if (!s.in(i).ndim_known()) s.set_in(i, Shape{shared == 1 ? 1 : count});
  }
}

void multi_type(TypeInfer& t, int stride, int shared, bool mixed) {
  for (int i = 0; i < t.num_out(); ++i) {
    const int first = i * stride;
    t.tie_inputs(first, first + (mixed ? 2 : stride), {i});
    for (int j = 2; mixed && j < stride; ++j) t.set_in(first + j, DType::float32);
  }
  for (int i = t.num_in() - shared; i < t.num_in(); ++i) t.default_in(i);
}

constexpr int kMostInPlace = 64;  // of more weights the further ones are updated by way of copies

// Lists of rates must have one value for each weight; shape inference is the first place that can tell.
template <class P>
void check_lists(const P& p, const ShapeInfer& s) {
  const auto check = [&](const char* name, size_t size) {
    LOOMIX_CHECK(size == static_cast<size_t>(count_of(p)), ValueError,
                 "[{}] {} has {} values; expected {}, one for each weight.", s.who(), name, size,
                 count_of(p));
  };
  if constexpr (requires { p.lrs; }) check("lrs", p.lrs.size());
  if constexpr (requires { p.wds; }) check("wds", p.wds.size());
  if constexpr (requires { p.etas; }) check("etas", p.etas.size());
  if constexpr (requires { p.learning_rates; }) check("learning_rates", p.learning_rates.size());
  if constexpr (requires { p.step_count; }) check("step_count", p.step_count.size());
}

template <class P, int stride, int shared, bool mixed>
void add_multi(OpTable& table, const char* name, const char* doc) {
  int P::*field;
  const char* count;
  if constexpr (requires(P p) { p.num_weights; }) {
    field = &P::num_weights;
    count = "num_weights";
  } else {
    field = &P::num_tensors;
    count = "num_tensors";
  }
  auto op = table.add<P>(name);
  for (int i = 0; i < kMostInPlace; ++i) op.inplace(i * stride, i);
  op.doc(doc)
      .variadic("data", count, field)
      .mutates_all()
      .num_inputs([](const P& p) { return stride * count_of(p) + shared; })
      .output("output")
      .num_outputs([](const P& p) { return count_of(p); })
      .infer_shape([](const P& p, ShapeInfer& s) {
        check_lists(p, s);
        multi_shape(s, stride, shared);
      })
      .infer_type([](const P&, TypeInfer& t) { multi_type(t, stride, shared, mixed); })
      .types(kFloatingTypes)
      .no_symbol();
}

void register_multi(OpTable& table) {
  using Multi = MultiSgdParams;
  using MultiMom = MultiSgdMomParams;
  using Loaded = PreloadedSgdParams;
  using LoadedMom = PreloadedSgdMomParams;
  add_multi<Multi, 2, 0, false>(table, "multi_sgd_update",
                                "sgd_update for several weights: weight, grad of each.");
  add_multi<Multi, 3, 0, true>(table, "multi_mp_sgd_update",
                               "mp_sgd_update for several weights: weight, grad, weight32 of each.");
  add_multi<MultiMom, 3, 0, false>(table, "multi_sgd_mom_update",
                                   "sgd_mom_update for several weights: weight, grad, mom of each.");
  add_multi<MultiMom, 4, 0, true>(
      table, "multi_mp_sgd_mom_update",
      "mp_sgd_mom_update for several weights: weight, grad, mom, weight32 of each.");
  add_multi<Loaded, 2, 2, false>(
      table, "preloaded_multi_sgd_update",
      "multi_sgd_update with the learning rates and weight decays as last two arrays.");
  add_multi<Loaded, 3, 2, true>(
      table, "preloaded_multi_mp_sgd_update",
      "multi_mp_sgd_update with the learning rates and weight decays as last two arrays.");
  add_multi<LoadedMom, 3, 2, false>(
      table, "preloaded_multi_sgd_mom_update",
      "multi_sgd_mom_update with the learning rates and weight decays as last arrays.");
  add_multi<LoadedMom, 4, 2, true>(
      table, "preloaded_multi_mp_sgd_mom_update",
      "multi_mp_sgd_mom_update with learning rates and weight decays as last arrays.");
  add_multi<MultiAdamWParams, 4, 1, false>(
      table, "_multi_adamw_update",
      "_adamw_update for several weights: weight, grad, mean, var of each; rescale_grad.");
  add_multi<MultiAdamWParams, 5, 1, true>(
      table, "_multi_mp_adamw_update",
      "_mp_adamw_update for several weights: weight, grad, mean, var, weight32 of each; rescale_grad.");
  add_multi<MultiLambParams, 4, 0, false>(table, "_multi_lamb_update",
                                          "LAMB for several weights: weight, grad, mean, var of each.");
  add_multi<MultiLambParams, 5, 0, true>(
      table, "_multi_mp_lamb_update", "LAMB for several weights: weight, grad, mean, var, weight32 of each.");
}

void register_lamb_adamw(OpTable& table) {
  using One = LambPhase1Params;
  using Two = LambPhase2Params;
  add_update<One>(table, "lamb_update_phase1", {"mean", "var"}, "The direction of LAMB's step.");
  add_mixed_update<One>(table, "mp_lamb_update_phase1", {"mean", "var"},
                        "The direction of LAMB's step, in float32, for a weight of a half type.")
      .infer_type([](const One&, TypeInfer& t) {
        t.tie({0, 1}, {});
        for (int i = 2; i < t.num_in(); ++i) t.set_in(i, DType::float32);
        t.set_out(0, DType::float32);
      });
  table.add<Two>("lamb_update_phase2", {"weight", "g", "r1", "r2"})
      .doc("LAMB's step, its length scaled by the norms r1 of the weight and r2 of the direction g.")
      .infer_shape([](const Two&, ShapeInfer& s) { shape_with_scalars(s, 2); })
      .types(kFloatingTypes)
      .no_symbol();
  table.add<Two>("mp_lamb_update_phase2", {"weight", "g", "r1", "r2"})
      .doc("LAMB's step for a weight of a half type with a float32 copy.")
      .state("weight32")
      .infer_shape([](const Two&, ShapeInfer& s) {
        s.tie({0, 1, 4});
        for (int i : {2, 3}) {
          if (!s.in(i).ndim_known()) s.set_in(i, Shape{1});
        }
      })
      .infer_type([](const Two&, TypeInfer& t) {
        t.set_out(0, t.in(0));
        for (int i = 1; i < t.num_in(); ++i) t.set_in(i, DType::float32);
      })
      .types(kFloatingTypes)
      .no_symbol();
  using W = AdamWParams;
  const auto add_adamw = [&](const char* name, std::vector<const char*> states, const char* doc) {
    auto op = table.add<W>(name, {"weight", "grad"}).doc(doc);
    for (const char* state : states) op.state(state);
    return op.input("rescale_grad")
        .infer_shape([](const W&, ShapeInfer& s) { shape_with_scalars(s, 1); })
        .types(kFloatingTypes)
        .no_symbol();
  };
  add_adamw(
      "_adamw_update", {"mean", "var"},
      "Adam with decoupled weight decay; `rescale_grad` is an array of one number, which skips the step "
      "if not finite.")
      .infer_type([](const W&, TypeInfer& t) { multi_type(t, 4, 1, false); });
  add_adamw("_mp_adamw_update", {"mean", "var", "weight32"},
            "_adamw_update for a weight of a half type with a float32 copy.")
      .infer_type([](const W&, TypeInfer& t) { multi_type(t, 5, 1, true); });
}

template <class P>
void finite_rules(OpBuilder<P> op) {
  op.infer_shape([](const P&, ShapeInfer& s) { s.set_out(0, Shape{1}); })
      .infer_type([](const P&, TypeInfer& t) { t.set_out(0, DType::float32); })
      .types(kFloatingTypes)
      .zero_gradient();
}

void register_helpers(OpTable& table) {
  using Num = NumArraysParams;
  using Lars = MultiLarsParams;
  table.add<Num>("multi_sum_sq")
      .doc("The sums of the squares of several arrays.")
      .variadic("data", "num_arrays", &Num::num_arrays)
      .infer_shape([](const Num& p, ShapeInfer& s) { s.set_out(0, Shape{p.num_arrays}); })
      .infer_type([](const Num&, TypeInfer& t) { t.set_out(0, DType::float32); })
      .types(kFloatingTypes)
      .zero_gradient();
  table.add<Lars>("multi_lars", {"lrs", "weights_sum_sq", "grads_sum_sq", "wds"})
      .doc("LARS: scales learning rates by the ratio of the weights' and gradients' norms.")
      .one_shape()
      .types(kFloatingTypes)
      .zero_gradient();
  using Rates = LarsRatesParams;
  table.add<Rates>("_multi_lars_rates")
      .doc(
          "The rates of LARS for several weights as an array, and their decays as another one: those two, "
          "then weight, "
          "grad of each.")
      .variadic("data", "num_weights", &Rates::num_weights)
      .num_inputs([](const Rates& p) { return 2 + 2 * p.num_weights; })
      .output("output")
      .num_outputs([](const Rates&) { return 2; })
      .inplace(0, 0)
      .inplace(1, 1)
      .infer_shape([](const Rates& p, ShapeInfer& s) {
        check_lists(p, s);
        for (int i = 0; i < 2; ++i) {
          s.set_in(i, Shape{p.num_weights});
          s.set_out(i, Shape{p.num_weights});
        }
        for (int i = 2; i < s.num_in(); i += 2) s.tie_inputs(i, i + 2, {});
      })
      .infer_type([](const Rates&, TypeInfer& t) {
        for (int i = 0; i < 2; ++i) {
          t.set_in(i, DType::float32);
          t.set_out(i, DType::float32);
        }
      })
      .types(kFloatingTypes)
      .no_symbol();
  finite_rules(table.add<AllFiniteParams>("all_finite", {"data"})
                   .doc("1 if every number in the array is finite, else 0."));
  finite_rules(table.add<MultiAllFiniteParams>("multi_all_finite")
                   .doc("1 if every number in all the arrays is finite, else 0.")
                   .variadic("data", "num_arrays", &MultiAllFiniteParams::num_arrays));
  table.add<Num>("reset_arrays")
      .doc("Sets arrays to zero.")
      .variadic("data", "num_arrays", &Num::num_arrays)
      .mutates_all()
      .num_outputs([](const Num&) { return 0; })
      .infer_shape([](const Num&, ShapeInfer&) {})
      .infer_type([](const Num&, TypeInfer&) {})
      .no_symbol();
}

}  // namespace

void register_optimizer(OpTable& table) {
  add_update<SgdParams>(table, "sgd_update", {}, "Stochastic gradient descent.")
      .aliases({"_sparse_sgd_update"});
  add_update<SgdMomParams>(table, "sgd_mom_update", {"mom"}, "Stochastic gradient descent with momentum.")
      .aliases({"_sparse_sgd_mom_update"});
  add_update<NagParams>(table, "nag_mom_update", {"mom"}, "Nesterov's accelerated gradient.");
  add_update<AdamParams>(table, "adam_update", {"mean", "var"}, "Adam.").aliases({"_sparse_adam_update"});
  add_update<RmsPropParams>(table, "rmsprop_update", {"n"}, "RMSProp in Hinton's form.");
  add_update<RmsPropAlexParams>(table, "rmspropalex_update", {"n", "g", "delta"}, "RMSProp in Graves' form.");
  add_update<FtrlParams>(table, "ftrl_update", {"z", "n"}, "Follow the regularised leader.")
      .aliases({"_sparse_ftrl_update"});
  add_update<FtmlParams>(table, "ftml_update", {"d", "v", "z"}, "Follow the moving leader.");
  add_update<SignSgdParams>(table, "signsgd_update", {}, "A step by the sign of the gradient.");
  add_update<SignumParams>(table, "signum_update", {"mom"}, "A step by the sign of the momentum.");
  add_update<AdagradParams>(table, "_sparse_adagrad_update", {"history"}, "AdaGrad.");
  add_update<AdaDeltaParams>(table, "_adadelta_update", {"mean_square", "mean_step"},
                             "AdaDelta, with the mean squares of gradients and of steps.");
  add_update<AdamaxParams>(table, "_adamax_update", {"mean", "largest"},
                           "Adam with the largest gradient in place of the variance.");
  add_update<NadamParams>(table, "_nadam_update", {"mean", "var"}, "Adam with Nesterov's momentum.");
  add_update<GroupAdagradParams>(table, "_contrib_group_adagrad_update", {"history"},
                                 "AdaGrad with one accumulated square a row.")
      .infer_shape([](const GroupAdagradParams&, ShapeInfer& s) {
        s.tie({0, 1});
        if (s.in(0).ndim() >= 1 && !s.in(2).ndim_known()) {
          Shape history = Shape::filled(s.in(0).ndim(), 1);
          history[0] = s.in(0)[0];
          s.set_in(2, history);
        }
        LOOMIX_CHECK(!s.in(2).is_known() || !s.in(0).is_known() || s.in(2).size() == s.in(0)[0], ShapeError,
                     "[{}] history has shape {}; expected one value for each row of the weight {}.", s.who(),
                     s.in(2).to_string(), s.in(0).to_string());
      });
  add_mixed_update<SgdParams>(table, "mp_sgd_update", {},
                              "sgd_update for a weight of a half type with a float32 copy.");
  add_mixed_update<SgdMomParams>(table, "mp_sgd_mom_update", {"mom"},
                                 "sgd_mom_update for a weight of a half type with a float32 copy.");
  add_mixed_update<NagParams>(table, "mp_nag_mom_update", {"mom"},
                              "nag_mom_update for a weight of a half type with a float32 copy.");
  register_lamb_adamw(table);
  register_multi(table);
  register_helpers(table);
}

}  // namespace loomix::ops
