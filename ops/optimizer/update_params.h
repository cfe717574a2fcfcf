// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/params.h"

// Attributes of the update operators. They share most fields, so each struct is a choice of mixed-in groups.
namespace loomix::ops {

struct RescaleFields {
  float rescale_grad = 1.0f;
  float clip_gradient = -1.0f;
  template <class P>
  static void rescale_fields(FieldList<P>& f) {
    f("rescale_grad", static_cast<float P::*>(&P::rescale_grad), "Multiplies the gradient first.");
    f("clip_gradient", static_cast<float P::*>(&P::clip_gradient),
      "Clips the gradient to [-c, c]; off if negative.");
  }
};

struct RateFields {
  float lr = 0;
  float wd = 0;
  template <class P>
  static void lr_field(FieldList<P>& f) {
    f("lr", static_cast<float P::*>(&P::lr), "Learning rate.").required("0.1");
  }
  template <class P>
  static void wd_field(FieldList<P>& f) {
    f("wd", static_cast<float P::*>(&P::wd), "Weight decay.");
  }
};

struct SgdParams : RateFields, RescaleFields {
  bool lazy_update = true;
  static void fields(FieldList<SgdParams>& f) {
    lr_field(f);
    wd_field(f);
    rescale_fields(f);
    f("lazy_update", &SgdParams::lazy_update,
      "For row_sparse gradients: updates only the rows that are there.");
  }
};

struct SgdMomParams : RateFields, RescaleFields {
  float momentum = 0.0f;
  bool lazy_update = true;
  static void fields(FieldList<SgdMomParams>& f) {
    lr_field(f);
    f("momentum", &SgdMomParams::momentum, "How much of the last step is kept.");
    wd_field(f);
    rescale_fields(f);
    f("lazy_update", &SgdMomParams::lazy_update,
      "For row_sparse gradients: updates only the rows that are there.");
  }
};

struct NagParams : RateFields, RescaleFields {
  float momentum = 0.0f;
  static void fields(FieldList<NagParams>& f) {
    lr_field(f);
    f("momentum", &NagParams::momentum, "How much of the last step is kept.");
    wd_field(f);
    rescale_fields(f);
  }
};

struct AdamParams : RateFields, RescaleFields {
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  bool lazy_update = true;
  static void fields(FieldList<AdamParams>& f) {
    lr_field(f);
    f("beta1", &AdamParams::beta1, "Decay of the mean.");
    f("beta2", &AdamParams::beta2, "Decay of the variance.");
    f("epsilon", &AdamParams::epsilon, "Avoids a division by zero.");
    wd_field(f);
    rescale_fields(f);
    f("lazy_update", &AdamParams::lazy_update,
      "For row_sparse gradients: updates only the rows that are there.");
  }
};

struct AdamWParams : RateFields {
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float eta = 0;
  float clip_gradient = -1.0f;
  static void fields(FieldList<AdamWParams>& f) {
    lr_field(f);
    f("beta1", &AdamWParams::beta1, "Decay of the mean.");
    f("beta2", &AdamWParams::beta2, "Decay of the variance.");
    f("epsilon", &AdamWParams::epsilon, "Avoids a division by zero.");
    wd_field(f);
    f("eta", &AdamWParams::eta, "Multiplies the whole step.").required("1");
    f("clip_gradient", &AdamWParams::clip_gradient, "Clips the gradient to [-c, c]; off if negative.");
  }
};

struct RmsPropParams : RateFields, RescaleFields {
  float gamma1 = 0.95f;
  float epsilon = 1e-8f;
  float clip_weights = -1.0f;
  static void fields(FieldList<RmsPropParams>& f) {
    lr_field(f);
    f("gamma1", &RmsPropParams::gamma1, "Decay of the mean square.");
    f("epsilon", &RmsPropParams::epsilon, "Avoids a division by zero.");
    wd_field(f);
    rescale_fields(f);
    f("clip_weights", &RmsPropParams::clip_weights, "Clips the weights to [-c, c]; off if negative.");
  }
};

struct RmsPropAlexParams : RateFields, RescaleFields {
  float gamma1 = 0.95f;
  float gamma2 = 0.9f;
  float epsilon = 1e-8f;
  float clip_weights = -1.0f;
  static void fields(FieldList<RmsPropAlexParams>& f) {
    lr_field(f);
    f("gamma1", &RmsPropAlexParams::gamma1, "Decay of the mean and the mean square.");
    f("gamma2", &RmsPropAlexParams::gamma2, "Decay of the step.");
    f("epsilon", &RmsPropAlexParams::epsilon, "Avoids a division by zero.");
    wd_field(f);
    rescale_fields(f);
    f("clip_weights", &RmsPropAlexParams::clip_weights, "Clips the weights to [-c, c]; off if negative.");
  }
};

struct FtrlParams : RateFields, RescaleFields {
  float lamda1 = 0.01f;
  float beta = 1.0f;
  static void fields(FieldList<FtrlParams>& f) {
    lr_field(f);
    f("lamda1", &FtrlParams::lamda1, "Weight of the L1 penalty.");
    f("beta", &FtrlParams::beta, "Damps the learning rate of each coordinate.");
    wd_field(f);
    rescale_fields(f);
  }
};

struct FtmlParams : RateFields {
  float beta1 = 0.6f;
  float beta2 = 0.999f;
  double epsilon = 1e-8f;
  int t = 0;
  float rescale_grad = 1.0f;
  float clip_grad = -1.0f;
  static void fields(FieldList<FtmlParams>& f) {
    lr_field(f);
    f("beta1", &FtmlParams::beta1, "Decay of the mean.").at_least(0).at_most(1);
    f("beta2", &FtmlParams::beta2, "Decay of the variance.").at_least(0).at_most(1);
    f("epsilon", &FtmlParams::epsilon, "Avoids a division by zero.");
    f("t", &FtmlParams::t, "Number of updates so far, this one included.").required("1");
    wd_field(f);
    f("rescale_grad", &FtmlParams::rescale_grad, "Multiplies the gradient first.");
    f("clip_grad", &FtmlParams::clip_grad, "Clips the gradient to [-c, c]; off if negative.");
  }
};

struct SignSgdParams : RateFields, RescaleFields {
  static void fields(FieldList<SignSgdParams>& f) {
    lr_field(f);
    wd_field(f);
    rescale_fields(f);
  }
};

struct SignumParams : RateFields, RescaleFields {
  float momentum = 0.0f;
  float wd_lh = 0.0f;
  static void fields(FieldList<SignumParams>& f) {
    lr_field(f);
    f("momentum", &SignumParams::momentum, "How much of the last step is kept.");
    wd_field(f);
    rescale_fields(f);
    f("wd_lh", &SignumParams::wd_lh, "Weight decay that does not pass through the momentum.");
  }
};

struct LambPhase1Params : RescaleFields {
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-6f;
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
  float lr = 0;
  float lower_bound = -1.0f;
  float upper_bound = -1.0f;
  static void fields(FieldList<LambPhase2Params>& f) {
    f("lr", &LambPhase2Params::lr, "Learning rate.").required("0.1");
    f("lower_bound", &LambPhase2Params::lower_bound, "Least norm of the weight; off if negative.");
    f("upper_bound", &LambPhase2Params::upper_bound, "Largest norm of the weight; off if negative.");
  }
};

struct AdagradParams : RateFields, RescaleFields {
  float epsilon = 1e-7f;
  static void fields(FieldList<AdagradParams>& f) {
    lr_field(f);
    f("epsilon", &AdagradParams::epsilon, "Avoids a division by zero.");
    wd_field(f);
    rescale_fields(f);
  }
};

struct GroupAdagradParams : RescaleFields {
  float lr = 0;
  float epsilon = 1e-5f;
  static void fields(FieldList<GroupAdagradParams>& f) {
    f("lr", &GroupAdagradParams::lr, "Learning rate.").required("0.1");
    rescale_fields(f);
    f("epsilon", &GroupAdagradParams::epsilon, "Avoids a division by zero.");
  }
};

// Of the forms that update several weights at once.
struct MultiSgdParams : RescaleFields {
  std::vector<float> lrs;
  std::vector<float> wds;
  int num_weights = 1;
  static constexpr float momentum = 0.0f;
  static void fields(FieldList<MultiSgdParams>& f) {
    f("lrs", &MultiSgdParams::lrs, "Learning rates.").required("(0.1,)");
    f("wds", &MultiSgdParams::wds, "Weight decays.").required("(0.01,)");
    rescale_fields(f);
    f("num_weights", &MultiSgdParams::num_weights, "Number of weights.").at_least(1);
  }
};

struct MultiSgdMomParams : RescaleFields {
  std::vector<float> lrs;
  std::vector<float> wds;
  float momentum = 0.0f;
  int num_weights = 1;
  static void fields(FieldList<MultiSgdMomParams>& f) {
    f("lrs", &MultiSgdMomParams::lrs, "Learning rates.").required("(0.1,)");
    f("wds", &MultiSgdMomParams::wds, "Weight decays.").required("(0.01,)");
    f("momentum", &MultiSgdMomParams::momentum, "How much of the last step is kept.");
    rescale_fields(f);
    f("num_weights", &MultiSgdMomParams::num_weights, "Number of weights.").at_least(1);
  }
};

struct PreloadedSgdParams : RescaleFields {
  int num_weights = 1;
  static constexpr float momentum = 0.0f;
  static void fields(FieldList<PreloadedSgdParams>& f) {
    rescale_fields(f);
    f("num_weights", &PreloadedSgdParams::num_weights, "Number of weights.").at_least(1);
  }
};

struct PreloadedSgdMomParams : RescaleFields {
  float momentum = 0.0f;
  int num_weights = 1;
  static void fields(FieldList<PreloadedSgdMomParams>& f) {
    f("momentum", &PreloadedSgdMomParams::momentum, "How much of the last step is kept.");
    rescale_fields(f);
    f("num_weights", &PreloadedSgdMomParams::num_weights, "Number of weights.").at_least(1);
  }
};

struct MultiAdamWParams {
  std::vector<float> lrs;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  std::vector<float> wds;
  std::vector<float> etas;
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
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-6f;
  std::vector<float> wds;
  float rescale_grad = 1.0f;
  float lower_bound = -1.0f;
  float upper_bound = -1.0f;
  float clip_gradient = -1.0f;
  bool bias_correction = true;
  Shape step_count;
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
    f("step_count", &P::step_count, "Numbers of updates so far, these included.").required("(1,)");
    f("num_tensors", &P::num_tensors, "Number of weights.").at_least(1);
  }
};

struct MultiLarsParams {
  float eta = 0;
  float eps = 0;
  float rescale_grad = 1.0f;
  static void fields(FieldList<MultiLarsParams>& f) {
    f("eta", &MultiLarsParams::eta, "The trust coefficient.").required("1");
    f("eps", &MultiLarsParams::eps, "Avoids a division by zero.").required("1e-8");
    f("rescale_grad", &MultiLarsParams::rescale_grad, "Multiplies the gradients first.");
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
  static void fields(FieldList<AllFiniteParams>& f) {
    f("init_output", &AllFiniteParams::init_output, "Starts from true; else from what the output holds.");
  }
};

struct MultiAllFiniteParams {
  int num_arrays = 1;
  bool init_output = true;
  static void fields(FieldList<MultiAllFiniteParams>& f) {
    f("num_arrays", &MultiAllFiniteParams::num_arrays, "Number of arrays.").at_least(1);
    f("init_output", &MultiAllFiniteParams::init_output,
      "Starts from true; else from what the output holds.");
  }
};

}  // namespace loomix::ops
