// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct FullyConnectedParams {
  int num_hidden = 0;
  bool no_bias = false;
  bool flatten = true;

  static void fields(FieldList<FullyConnectedParams>& f) {
    f("num_hidden", &FullyConnectedParams::num_hidden, "Number of outputs.").required("4").at_least(1);
    f("no_bias", &FullyConnectedParams::no_bias, "Leaves the bias out.");
    f("flatten", &FullyConnectedParams::flatten,
      "Joins all axes of the data but the first; else only the last is used.");
  }
};

// data (n, k), weight (num_hidden, k), bias (num_hidden) -> (n, num_hidden).
void fully_connected_cpu(const FullyConnectedParams&, const KernelArgs&);
void fully_connected_cblas(const FullyConnectedParams&, const KernelArgs&);
// For batches of some dozen rows: the weight is read in place.
void fully_connected_panels(const FullyConnectedParams&, const KernelArgs&);
Support fully_connected_panels_support(const FullyConnectedParams&, const KernelSpec&);
size_t fully_connected_panels_scratch(const FullyConnectedParams&, const KernelSpec&);
// grad, weight, data (shape only) -> gradient of the data.
void fully_connected_data_cpu(const FullyConnectedParams&, const KernelArgs&);
void fully_connected_data_cblas(const FullyConnectedParams&, const KernelArgs&);
// grad, data, weight (shape only) -> gradient of the weight.
void fully_connected_weight_cpu(const FullyConnectedParams&, const KernelArgs&);
void fully_connected_weight_cblas(const FullyConnectedParams&, const KernelArgs&);
// grad -> gradient of the bias.
void fully_connected_bias_cpu(const FullyConnectedParams&, const KernelArgs&);

}  // namespace loomix::ops
