// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct HistogramParams {
  std::optional<int> bin_cnt;
  std::optional<std::vector<double>> range;
  static void fields(FieldList<HistogramParams>& f) {
    f("bin_cnt", &HistogramParams::bin_cnt,
      "How many bins of equal width; without it, `bins` has their edges.")
        .type("int or None");
    f("range", &HistogramParams::range,
      "Lower edge of the first and upper edge of the last bin, with bin_cnt.");
  }
};

// ValueError unless the edges rise.
void check_edges(const TensorView& bins);

// data, perhaps edges -> counts, edges.
void histogram_cpu(const HistogramParams& p, const KernelArgs& args);

}  // namespace loomix::ops
