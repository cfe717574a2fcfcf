// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/quantization/quantization.h"

namespace loomix::ops {

// Of a sum of products of data and weight: the real number that 1 stands for. The ranges come after the arrays. Where the rows of
// the weight have a range each, all sums are brought to the largest of their steps, so that the output has one range.
class ProductRange {
 public:
  ProductRange(const KernelArgs& args, bool with_bias, const char* who)
      : data_step_(range_at(args, with_bias ? 3 : 2, who).step(args.in[0].dtype)),
        weight_(args, with_bias ? 5 : 4, who) {
    if (with_bias) {
      bias_.emplace(args, 7, who);
      given_ = args.in[2].as<int8_t>();
    }
    const int64_t rows = weight_.is_one() ? 1 : args.in[1].shape[0];
    for (int64_t row = 0; row < rows; ++row) step_ = std::max(step_, step_of(row));
    const auto reach = static_cast<float>(step_ * largest_of(DType::int32));
    put_range(args, {-reach, reach});
  }

  // What becomes of the exact sums of a row.
  struct Closing {
    double factor;
    int32_t bias;
    bool is_needed() const { return factor != 1 || bias != 0; }
    int32_t operator()(int32_t sum) const { return factor == 1 ? sum + bias : to_sum(sum * factor + bias); }
  };
  Closing row(int64_t row) const {
    const double per = per_step(step_);
    const int32_t bias = bias_ ? to_sum(given_[row] * (*bias_)[row].step(DType::int8) * per) : 0;
    return {weight_.is_one() ? 1.0 : step_of(row) * per, bias};
  }

 private:
  double step_of(int64_t row) const { return data_step_ * weight_[row].step(DType::int8); }

  double data_step_, step_ = 0;
  RowRanges weight_;
  std::optional<RowRanges> bias_;
  const int8_t* given_ = nullptr;
};

}  // namespace loomix::ops
