// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "op_runner.h"
#include "ops/conv/convolution.h"

// Convolution by its definition, in double and one product at a time: shares nothing with the kernels.
namespace loomix::ops::testing {

class DirectConvolution {
 public:
  DirectConvolution(const ConvolutionParams& params, Shape data, Shape weight, Shape output)
      : params_(params), data_(std::move(data)), weight_(std::move(weight)), output_(std::move(output)) {
    last_ = params.layout == Layout::NHWC || params.layout == Layout::NDHWC;
  }

  std::vector<double> forward(const std::vector<double>& x, const std::vector<double>& w,
                              const std::vector<double>& bias) const {
    std::vector<double> out(static_cast<size_t>(output_.size()));
    each_product([&](size_t o, size_t i, size_t k) { out[o] += x[i] * w[k]; });
    if (!bias.empty()) {
      for (size_t o = 0; o < out.size(); ++o) {
        const Place place = place_of(output_, static_cast<int64_t>(o));
        out[o] += bias[static_cast<size_t>(place.channel)];
      }
    }
    return out;
  }
  std::vector<double> data_gradient(const std::vector<double>& grad, const std::vector<double>& w) const {
    std::vector<double> result(static_cast<size_t>(data_.size()));
    each_product([&](size_t o, size_t i, size_t k) { result[i] += grad[o] * w[k]; });
    return result;
  }
  std::vector<double> weight_gradient(const std::vector<double>& grad, const std::vector<double>& x) const {
    std::vector<double> result(static_cast<size_t>(weight_.size()));
    each_product([&](size_t o, size_t i, size_t k) { result[k] += grad[o] * x[i]; });
    return result;
  }

 private:
  // Of an element: its image (or filter), its channel, its position.
  struct Place {
    int64_t first = 0, channel = 0;
    std::array<int64_t, 3> at{};
  };

  int axes() const { return params_.kernel.ndim(); }
  int channel_axis() const { return last_ ? axes() + 1 : 1; }
  static int64_t at_or(const Shape& shape, int axis, int64_t other) {
    return shape.ndim() > axis ? shape[axis] : other;
  }

  Place place_of(const Shape& shape, int64_t index) const {
    std::array<int64_t, 5> at{};
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      at[static_cast<size_t>(axis)] = index % shape[axis];
      index /= shape[axis];
    }
    Place place{at[0], at[static_cast<size_t>(channel_axis())], {}};
    for (int i = 0; i < axes(); ++i) {
      place.at[static_cast<size_t>(i)] = at[static_cast<size_t>(i + (last_ ? 1 : 2))];
    }
    return place;
  }
  int64_t index_of(const Shape& shape, const Place& place) const {
    int64_t index = place.first;
    for (int axis = 1, i = 0; axis < shape.ndim(); ++axis) {
      const bool channel = axis == channel_axis();
      index = index * shape[axis] + (channel ? place.channel : place.at[static_cast<size_t>(i)]);
      if (!channel) ++i;
    }
    return index;
  }

  // Calls visit(output's, data's, weight's index) for each product that the definition sums.
  template <class Visit>
  void each_product(const Visit& visit) const {
    const int64_t filters = params_.num_filter / params_.num_group;
    const int64_t channels = weight_[channel_axis()];
    const int64_t row = weight_.size() / params_.num_filter;
    for (int64_t o = 0; o < output_.size(); ++o) {
      const Place out = place_of(output_, o);
      for (int64_t k = out.channel * row; k < (out.channel + 1) * row; ++k) {
        const Place tap = place_of(weight_, k);
        Place in{out.first, out.channel / filters * channels + tap.channel, {}};
        bool inside = true;
        for (int i = 0; i < axes(); ++i) {
          const auto axis = static_cast<size_t>(i);
          in.at[axis] = out.at[axis] * at_or(params_.stride, i, 1) - at_or(params_.pad, i, 0) +
                        tap.at[axis] * at_or(params_.dilate, i, 1);
          inside = inside && in.at[axis] >= 0 && in.at[axis] < data_[i + (last_ ? 1 : 2)];
        }
        if (inside) {
          visit(static_cast<size_t>(o), static_cast<size_t>(index_of(data_, in)), static_cast<size_t>(k));
        }
      }
    }
  }

  ConvolutionParams params_;
  Shape data_, weight_, output_;
  bool last_ = false;
};

}  // namespace loomix::ops::testing
