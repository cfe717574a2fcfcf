// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct BatchNormFields {
  float momentum = 0.9f;
  bool fix_gamma = true;
  bool use_global_stats = false;
  bool output_mean_var = false;

  template <class P>
  static void fields(FieldList<P>& f) {
    f("eps", &P::eps, "Added to the variance.");
    f("momentum", &P::momentum, "How much of the moving averages is kept at an update.");
    f("fix_gamma", &P::fix_gamma, "Keeps gamma at 1.");
    f("use_global_stats", &P::use_global_stats, "Normalises by the moving averages in training, too.");
    f("output_mean_var", &P::output_mean_var, "Returns mean and 1 / sqrt(variance + eps), too.");
  }
};

struct BatchNormParams : BatchNormFields {
  double eps = 1e-3f;
  int axis = 1;
  bool cudnn_off = false;
  std::optional<float> min_calib_range;
  std::optional<float> max_calib_range;

  template <class P>
  static void fields(FieldList<P>& f) {
    BatchNormFields::fields(f);
    f("axis", &P::axis, "The axis of the channels.");
    f("cudnn_off", &P::cudnn_off, "Has no effect.");
    f("min_calib_range", &P::min_calib_range, "For quantised networks; has no effect here.");
    f("max_calib_range", &P::max_calib_range, "For quantised networks; has no effect here.");
  }
};

struct BatchNormV1Params : BatchNormFields {
  float eps = 1e-3f;
};

struct BatchNormReluParams : BatchNormParams {};

struct SyncBatchNormParams : BatchNormV1Params {
  int ndev = 1;
  std::string key;

  static void fields(FieldList<SyncBatchNormParams>& f) {
    using P = SyncBatchNormParams;
    BatchNormFields::fields(f);
    f("ndev", &P::ndev, "Number of devices whose batches are one; 1 is all that is supported.")
        .at_least(1)
        .at_most(1)
        .type("int");
    f("key", &P::key, "Names what devices share; has no effect on one.").required("key");
  }
};

inline const BatchNormParams& full_params(const BatchNormParams& p) { return p; }
inline BatchNormParams full_params(const BatchNormV1Params& p) {
  BatchNormParams full;
  static_cast<BatchNormFields&>(full) = p;
  full.eps = p.eps;
  return full;
}

}  // namespace loomix::ops
