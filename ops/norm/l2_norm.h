// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

// What is normalised together: everything of an item, its channels at one place, or one of its channels.
enum class L2Mode { instance, channel, spatial };

struct L2NormalizationParams {
  float eps = 1e-10f;
  L2Mode mode = L2Mode::instance;
  static void fields(FieldList<L2NormalizationParams>& f) {
    f("eps", &L2NormalizationParams::eps, "Added to the sum of squares.");
    f("mode", &L2NormalizationParams::mode,
      "What is normalised together: all of an item, its channels at each place, or each of its channels.")
        .options(
            {{"channel", L2Mode::channel}, {"instance", L2Mode::instance}, {"spatial", L2Mode::spatial}});
  }
};

struct LRNParams {
  float alpha = 1e-4f;
  float beta = 0.75f;
  float knorm = 2;
  int nsize = 0;
  static void fields(FieldList<LRNParams>& f) {
    f("alpha", &LRNParams::alpha, "Factor of the mean square.");
    f("beta", &LRNParams::beta, "Power of the denominator.");
    f("knorm", &LRNParams::knorm, "Added to the mean square times alpha.");
    f("nsize", &LRNParams::nsize, "How many neighbouring channels count; an odd number.")
        .required("3")
        .at_least(0)
        .type("int (non-negative)");
  }
};

}  // namespace loomix::ops
