// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/kernel.h"
#include "ops/limits.h"

namespace loomix::ops {

class BilinearShapes;

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

// What the shapes of data, weight and output say about each other.
void fully_connected_shapes(const FullyConnectedParams&, BilinearShapes&);

// FullyConnected: data (n, k), weight (num_hidden, k), bias (num_hidden) -> (n, num_hidden). _relu_FullyConnected is max(x, 0) of
// that, for graphs on GPUs (ops/closed_operators.h). Its kernels are matrix products
// (product_list.h), but for the bias's gradient, and these two for batches of up to 512 rows, which read the
// weight in place.
void fully_connected_panels(const FullyConnectedParams&, const KernelArgs&);
Support fully_connected_panels_support(const FullyConnectedParams&, const KernelSpec&);
// Whether panels of rows are the faster product of so many rows and hidden units.
Support panels_pay(int64_t rows, int64_t fewest, int64_t hidden, const WorkLimits& limits = work_limits());
size_t fully_connected_panels_scratch(const FullyConnectedParams&, const KernelSpec&);
void bfloat16_panels(const FullyConnectedParams&, const KernelArgs&);
Support bfloat16_panels_support(const FullyConnectedParams&, const KernelSpec&);
size_t bfloat16_panels_scratch(const FullyConnectedParams&, const KernelSpec&);

}  // namespace loomix::ops
