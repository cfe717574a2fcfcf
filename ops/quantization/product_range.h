// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/quantization/quantization.h"

namespace loomix::ops {

// Of a sum of products of data and weight: the real number that 1 stands for. The ranges come after the arrays.
struct ProductRange {
  double step, bias_step = 0;
  ProductRange(const KernelArgs& args, bool with_bias, const char* who) {
    const size_t first = with_bias ? 3 : 2;
    step =
        range_at(args, first, who).step(args.in[0].dtype) * range_at(args, first + 2, who).step(DType::int8);
    if (with_bias) bias_step = range_at(args, first + 4, who).step(DType::int8);
    const auto reach = static_cast<float>(step * largest_of(DType::int32));
    put_range(args, {-reach, reach});
  }
  int32_t bias(const KernelArgs& args, int64_t i) const {
    return bias_step > 0 ? to_sum(args.in[2].as<int8_t>()[i] * bias_step * per_step(step)) : 0;
  }
};

}  // namespace loomix::ops
