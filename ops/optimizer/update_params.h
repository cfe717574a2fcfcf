// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/params.h"

// Attributes of the update operators. A field has one name and one meaning in all of them.
namespace loomix::ops {

template <class P>
void rescale_fields(FieldList<P>& f) {
  if constexpr (requires { &P::rescale_grad; })
    f("rescale_grad", &P::rescale_grad, "Multiplies the gradient first.");
  f("clip_gradient", &P::clip_gradient, "Clips the gradient to [-c, c]; off if negative.");
}

// Attributes made of members that rules share.
struct UpdateFields {
  // Declares those that P has, in MXNet's order.
  template <class P>
  static void fields(FieldList<P>& f) {
    if constexpr (requires { &P::lr; }) f("lr", &P::lr, "Learning rate.").required("0.1");
    if constexpr (requires { &P::lrs; }) f("lrs", &P::lrs, "Learning rates.").required("(0.1,)");
    if constexpr (requires { &P::wds; }) f("wds", &P::wds, "Weight decays.").required("(0.01,)");
    if constexpr (requires { &P::momentum; })
      f("momentum", &P::momentum, "How much of the last step is kept.");
    if constexpr (requires { &P::beta1; }) f("beta1", &P::beta1, "Decay of the mean.");
    if constexpr (requires { &P::beta2; }) f("beta2", &P::beta2, "Decay of the variance.");
    if constexpr (requires { &P::gamma2; }) {
      f("gamma1", &P::gamma1, "Decay of the mean and the mean square.");
      f("gamma2", &P::gamma2, "Decay of the step.");
    } else if constexpr (requires { &P::gamma1; }) {
      f("gamma1", &P::gamma1, "Decay of the mean square.");
    }
    if constexpr (requires { &P::lamda1; }) f("lamda1", &P::lamda1, "Weight of the L1 penalty.");
    if constexpr (requires { &P::beta; }) f("beta", &P::beta, "Damps the learning rate of each coordinate.");
    if constexpr (requires { &P::epsilon; }) f("epsilon", &P::epsilon, "Avoids a division by zero.");
    if constexpr (requires { &P::wd; }) f("wd", &P::wd, "Weight decay.");
    if constexpr (requires { &P::eta; }) f("eta", &P::eta, "Multiplies the whole step.").required("1");
    rescale_fields(f);
    if constexpr (requires { &P::clip_weights; })
      f("clip_weights", &P::clip_weights, "Clips the weights to [-c, c]; off if negative.");
    if constexpr (requires { &P::wd_lh; })
      f("wd_lh", &P::wd_lh, "Weight decay that does not pass through the momentum.");
    if constexpr (requires { &P::lazy_update; })
      f("lazy_update", &P::lazy_update, "For row_sparse gradients: updates only the rows that are there.");
    if constexpr (requires { &P::num_weights; })
      f("num_weights", &P::num_weights, "Number of weights.").at_least(1);
  }
};

struct RescaleFields : UpdateFields {
  float rescale_grad = 1, clip_gradient = -1;
};

struct RateFields : RescaleFields {
  float lr = 0, wd = 0;
};

struct SgdParams : RateFields {
  bool lazy_update = true;
};

struct SgdMomParams : RateFields {
  float momentum = 0;
  bool lazy_update = true;
};

struct NagParams : RateFields {
  float momentum = 0;
};

struct AdamParams : RateFields {
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  bool lazy_update = true;
};

struct AdamWParams : UpdateFields {
  float lr = 0, wd = 0, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, eta = 0, clip_gradient = -1;
};

struct RmsPropParams : RateFields {
  float gamma1 = 0.95f, epsilon = 1e-8f, clip_weights = -1;
};

struct RmsPropAlexParams : RateFields {
  float gamma1 = 0.95f, gamma2 = 0.9f, epsilon = 1e-8f, clip_weights = -1;
};

struct FtrlParams : RateFields {
  float lamda1 = 0.01f, beta = 1;
};

struct FtmlParams {
  float lr = 0, wd = 0, beta1 = 0.6f, beta2 = 0.999f;
  double epsilon = 1e-8f;
  int t = 0;
  float rescale_grad = 1.0f, clip_grad = -1.0f;
  static void fields(FieldList<FtmlParams>& f) {
    f("lr", &FtmlParams::lr, "Learning rate.").required("0.1");
    f("beta1", &FtmlParams::beta1, "Decay of the mean.").at_least(0).at_most(1);
    f("beta2", &FtmlParams::beta2, "Decay of the variance.").at_least(0).at_most(1);
    f("epsilon", &FtmlParams::epsilon, "Avoids a division by zero.");
    f("t", &FtmlParams::t, "Number of updates so far, this one included.").required("1");
    f("wd", &FtmlParams::wd, "Weight decay.");
    f("rescale_grad", &FtmlParams::rescale_grad, "Multiplies the gradient first.");
    f("clip_grad", &FtmlParams::clip_grad, "Clips the gradient to [-c, c]; off if negative.");
  }
};

struct SignSgdParams : RateFields {};

struct SignumParams : RateFields {
  float momentum = 0, wd_lh = 0;
};

struct LambPhase1Params : RescaleFields {
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-6f;
  int t = 0;
  bool bias_correction = true;
  float wd = 0;
  static void fields(FieldList<LambPhase1Params>& f) {
    using P = LambPhase1Params;
    f("beta1", &P::beta1, "Decay of the mean.");
    f("beta2", &P::beta2, "Decay of the variance.");
    f("epsilon", &P::epsilon, "Avoids a division by zero.");
    f("t", &P::t, "Number of updates so far, this one included.").required("1");
    f("bias_correction", &P::bias_correction, "Corrects the means for their start at zero.");
    f("wd", &P::wd, "Weight decay.").required("0.01");
    rescale_fields(f);
  }
};

struct LambPhase2Params {
  float lr = 0, lower_bound = -1.0f, upper_bound = -1.0f;
  static void fields(FieldList<LambPhase2Params>& f) {
    f("lr", &LambPhase2Params::lr, "Learning rate.").required("0.1");
    f("lower_bound", &LambPhase2Params::lower_bound, "Least norm of the weight; off if negative.");
    f("upper_bound", &LambPhase2Params::upper_bound, "Largest norm of the weight; off if negative.");
  }
};

struct AdagradParams : RateFields {
  float epsilon = 1e-7f;
};

// MXNet computes the rules of these three by functions on arrays, with numbers of Python: 1 - beta2 in float32 would be off by 5e-5 of it.
struct AdaDeltaParams : RescaleFields {
  double rho = 0.9;
  float epsilon = 1e-5f, wd = 0;
  static void fields(FieldList<AdaDeltaParams>& f) {
    f("rho", &AdaDeltaParams::rho, "Decay of both means.");
    UpdateFields::fields(f);
  }
};

struct AdamaxParams : RateFields {
  double beta1 = 0.9, beta2 = 0.999;
};

struct NadamParams : RateFields {
  double beta1 = 0.9, beta2 = 0.999;
  float epsilon = 1e-8f;
  float grad_factor = 1, mean_factor = 1, variance_factor = 1;
  static void fields(FieldList<NadamParams>& f) {
    using P = NadamParams;
    UpdateFields::fields(f);
    f("grad_factor", &P::grad_factor, "How much of the gradient the step has.").required("0.9");
    f("mean_factor", &P::mean_factor, "How much of the mean the step has.").required("0.9");
    f("variance_factor", &P::variance_factor, "Multiplies the variance, to correct it for its start at zero.")
        .required("1");
  }
};

struct GroupAdagradParams : RescaleFields {
  float lr = 0, epsilon = 1e-5f;
  static void fields(FieldList<GroupAdagradParams>& f) {
    f("lr", &GroupAdagradParams::lr, "Learning rate.").required("0.1");
    rescale_fields(f);
    f("epsilon", &GroupAdagradParams::epsilon, "Avoids a division by zero.");
  }
};

// Of the forms that update several weights at once.
struct MultiSgdParams : RescaleFields {
  std::vector<float> lrs, wds;
  int num_weights = 1;
};

struct MultiSgdMomParams : RescaleFields {
  std::vector<float> lrs, wds;
  float momentum = 0;
  int num_weights = 1;
};

struct PreloadedSgdParams : RescaleFields {
  int num_weights = 1;
};

struct PreloadedSgdMomParams : RescaleFields {
  float momentum = 0;
  int num_weights = 1;
};

struct MultiAdamWParams {
  std::vector<float> lrs;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  std::vector<float> wds, etas;
  float clip_gradient = -1.0f;
  int num_weights = 1;
  static void fields(FieldList<MultiAdamWParams>& f) {
    using P = MultiAdamWParams;
    f("lrs", &P::lrs, "Learning rates.").required("(0.1,)");
    f("beta1", &P::beta1, "Decay of the mean.");
    f("beta2", &P::beta2, "Decay of the variance.");
    f("epsilon", &P::epsilon, "Avoids a division by zero.");
    f("wds", &P::wds, "Weight decays.").required("(0.01,)");
    f("etas", &P::etas, "Multiply the whole steps.").required("(1,)");
    f("clip_gradient", &P::clip_gradient, "Clips the gradients to [-c, c]; off if negative.");
    f("num_weights", &P::num_weights, "Number of weights.").at_least(1);
  }
};

struct MultiLambParams {
  std::vector<float> learning_rates;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-6f;
  std::vector<float> wds;
  float rescale_grad = 1.0f, lower_bound = -1.0f, upper_bound = -1.0f, clip_gradient = -1.0f;
  bool bias_correction = true;
  std::vector<int64_t> step_count;
  int num_tensors = 1;
  static void fields(FieldList<MultiLambParams>& f) {
    using P = MultiLambParams;
    f("learning_rates", &P::learning_rates, "Learning rates.").required("(0.1,)");
    f("beta1", &P::beta1, "Decay of the mean.");
    f("beta2", &P::beta2, "Decay of the variance.");
    f("epsilon", &P::epsilon, "Avoids a division by zero.");
    f("wds", &P::wds, "Weight decays.").required("(0.01,)");
    f("rescale_grad", &P::rescale_grad, "Multiplies the gradients first.");
    f("lower_bound", &P::lower_bound, "Least norm of a weight; off if negative.");
    f("upper_bound", &P::upper_bound, "Largest norm of a weight; off if negative.");
    f("clip_gradient", &P::clip_gradient, "Clips the gradients to [-c, c]; off if negative.");
    f("bias_correction", &P::bias_correction, "Corrects the means for their start at zero.");
    f("step_count", &P::step_count, "Numbers of updates so far, these included.")
        .type("Shape(tuple)")
        .required("(1,)");
    f("num_tensors", &P::num_tensors, "Number of weights.").at_least(1);
  }
};

struct MultiLarsParams {
  float eta = 0, eps = 0, rescale_grad = 1.0f;
  static void fields(FieldList<MultiLarsParams>& f) {
    f("eta", &MultiLarsParams::eta, "The trust coefficient.").required("1");
    f("eps", &MultiLarsParams::eps, "Avoids a division by zero.").required("1e-8");
    f("rescale_grad", &MultiLarsParams::rescale_grad, "Multiplies the gradients first.");
  }
};

struct LarsRatesParams {
  std::vector<float> lrs, wds;
  float eta = 0, eps = 0, rescale_grad = 1.0f;
  int num_weights = 1;
  static void fields(FieldList<LarsRatesParams>& f) {
    using P = LarsRatesParams;
    f("lrs", &P::lrs, "Learning rates.").required("(0.1,)");
    f("wds", &P::wds, "Weight decays.").required("(0.01,)");
    f("eta", &P::eta, "The trust coefficient.").required("1");
    f("eps", &P::eps, "Avoids a division by zero.").required("1e-8");
    f("rescale_grad", &P::rescale_grad, "Multiplies the gradients first.");
    f("num_weights", &P::num_weights, "Number of weights.").at_least(1);
  }
};

struct NumArraysParams {
  int num_arrays = 0;
  static void fields(FieldList<NumArraysParams>& f) {
    f("num_arrays", &NumArraysParams::num_arrays, "Number of arrays.").required("2").at_least(1);
  }
};

struct AllFiniteParams {
  bool init_output = true;
  template <class P>
  static void fields(FieldList<P>& f) {
    f("init_output", &AllFiniteParams::init_output, "Starts from true; else from what the output holds.");
  }
};

struct MultiAllFiniteParams : AllFiniteParams {
  int num_arrays = 1;
  static void fields(FieldList<MultiAllFiniteParams>& f) {
    f("num_arrays", &MultiAllFiniteParams::num_arrays, "Number of arrays.").at_least(1);
    AllFiniteParams::fields(f);
  }
};

}  // namespace loomix::ops
