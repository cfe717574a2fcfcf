// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "loomix/cpp/ndarray.h"

namespace loomix::cpp {
inline namespace names {

// First values of an argument, by the end of its name: biases and betas are 0, gammas and variances 1, weights what the class
// says. Other names are left as they are.
class Initializer {
 public:
  virtual ~Initializer() = default;
  static bool StringStartWith(const std::string& name, const std::string& check_str) {
    return name.compare(0, check_str.size(), check_str) == 0;
  }
  static bool StringEndWith(const std::string& name, const std::string& check_str) {
    return detail::ends_with(name, check_str);
  }

  virtual void operator()(const std::string& name, NDArray* arr) {
    if (StringStartWith(name, "upsampling")) InitBilinear(arr);
    else if (StringEndWith(name, "bias")) InitBias(arr);
    else if (StringEndWith(name, "gamma")) InitGamma(arr);
    else if (StringEndWith(name, "beta")) InitBeta(arr);
    else if (StringEndWith(name, "weight")) InitWeight(arr);
    else if (StringEndWith(name, "moving_mean") || StringEndWith(name, "running_mean")) InitZero(arr);
    else if (StringEndWith(name, "moving_var") || StringEndWith(name, "running_var")) InitOne(arr);
    else if (StringEndWith(name, "moving_inv_var") || StringEndWith(name, "moving_avg")) InitZero(arr);
    else InitDefault(arr);
  }

 protected:
  // Interpolation between pixels, for a weight of four axes.
  virtual void InitBilinear(NDArray* arr) {
    const Shape shape(arr->GetShape());
    if (shape.ndim() != 4)
      throw Error("[Bilinear] the weight has shape " + detail::to_text(shape) + "; expected 4 axes.");
    const float factor = std::ceil(static_cast<float>(shape[3]) / 2.0f);
    const float center = (2 * factor - 1 - std::fmod(factor, 2.0f)) / (2 * factor);
    std::vector<mx_float> weight(shape.Size());
    for (size_t i = 0; i < weight.size(); ++i) {
      const auto x = static_cast<float>(i % shape[3]), y = static_cast<float>(i / shape[3] % shape[2]);
      weight[i] = (1 - std::abs(x / factor - center)) * (1 - std::abs(y / factor - center));
    }
    arr->SyncCopyFromCPU(weight);
  }
  virtual void InitZero(NDArray* arr) { *arr = 0.0f; }
  virtual void InitOne(NDArray* arr) { *arr = 1.0f; }
  virtual void InitBias(NDArray* arr) { *arr = 0.0f; }
  virtual void InitGamma(NDArray* arr) { *arr = 1.0f; }
  virtual void InitBeta(NDArray* arr) { *arr = 0.0f; }
  virtual void InitWeight(NDArray*) {}
  virtual void InitDefault(NDArray*) {}
};

// These give all arguments the same kind of value, whatever they are called.
class Constant : public Initializer {
 public:
  explicit Constant(float value) : value(value) {}
  void operator()(const std::string&, NDArray* arr) override { *arr = value; }

 protected:
  float value;
};

class Zero : public Constant {
 public:
  Zero() : Constant(0.0f) {}
};

class One : public Constant {
 public:
  One() : Constant(1.0f) {}
};

class Uniform : public Initializer {
 public:
  explicit Uniform(float scale) : Uniform(-scale, scale) {}
  Uniform(float begin, float end) : begin(begin), end(end) {}
  void operator()(const std::string&, NDArray* arr) override { NDArray::SampleUniform(begin, end, arr); }

 protected:
  float begin, end;
};

class Normal : public Initializer {
 public:
  Normal(float mu, float sigma) : mu(mu), sigma(sigma) {}
  void operator()(const std::string&, NDArray* arr) override { NDArray::SampleGaussian(mu, sigma, arr); }

 protected:
  float mu, sigma;
};

class Bilinear : public Initializer {
 public:
  void operator()(const std::string&, NDArray* arr) override { InitBilinear(arr); }
};

// Weights whose spread follows from how many inputs or outputs a unit has.
class Xavier : public Initializer {
 public:
  enum RandType { gaussian, uniform };
  enum FactorType { avg, in, out };

  explicit Xavier(RandType rand_type = gaussian, FactorType factor_type = avg, float magnitude = 3)
      : rand_type(rand_type), factor_type(factor_type), magnitude(magnitude) {}

 protected:
  void InitWeight(NDArray* arr) override {
    const Shape shape(arr->GetShape());
    float inner = 1;
    for (index_t axis = 2; axis < shape.ndim(); ++axis) inner *= static_cast<float>(shape[axis]);
    const float fan_out = shape.ndim() > 0 ? static_cast<float>(shape[0]) * inner : 1;
    const float fan_in = shape.ndim() > 1 ? static_cast<float>(shape[1]) * inner : fan_out;
    const float factor = factor_type == avg ? (fan_in + fan_out) / 2 : factor_type == in ? fan_in : fan_out;
    const float scale = std::sqrt(magnitude / std::max(factor, 1.0f));
    if (rand_type == uniform) NDArray::SampleUniform(-scale, scale, arr);
    else NDArray::SampleGaussian(0, scale, arr);
  }

  RandType rand_type;
  FactorType factor_type;
  float magnitude;
};

// For layers before a leaky ReLU of this slope.
class MSRAPrelu : public Xavier {
 public:
  explicit MSRAPrelu(FactorType factor_type = avg, float slope = 0.25f)
      : Xavier(gaussian, factor_type, 2.0f / (1 + slope * slope)) {}
};

}  // namespace names
}  // namespace loomix::cpp
