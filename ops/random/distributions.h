// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <limits>
#include <type_traits>

#include "ops/random/philox.h"

// One struct a distribution: names, defaults and lower limits of its parameters, and how a number is drawn, on the host or a
// device.
namespace loomix::ops {

// Whether a parameter's lower limit is a value that it can have. As in MXNet arrays of parameters may hold some that attributes may
// not: there the distribution is a single point.
enum class Limit : uint8_t { allowed, allowed_in_arrays, refused };

// Values are finite numbers.
struct ParameterInfo {
  const char* name;
  float initial;
  float least;  // lower limit
  Limit limit;
  const char* doc;
};

inline constexpr float kMostValue = std::numeric_limits<float>::max();
inline constexpr float kAnyValue = -kMostValue;

struct Uniform {
  static constexpr const char* name = "uniform";
  static constexpr const char* doc = "Draws uniformly from [low, high).";
  static constexpr std::array<ParameterInfo, 2> parameters = {
      {{"low", 0, kAnyValue, Limit::allowed, "Smallest value."},
       {"high", 1, kAnyValue, Limit::allowed, "Values are below it."}}};
  static constexpr double draw(auto& stream, double low, double high) {
    return low + (high - low) * stream.uniform();
  }
};

struct Normal {
  static constexpr const char* name = "normal";
  static constexpr const char* doc =
      "Draws from the normal distribution with mean loc and standard deviation scale.";
  static constexpr std::array<ParameterInfo, 2> parameters = {
      {{"loc", 0, kAnyValue, Limit::allowed, "The mean."},
       {"scale", 1, 0, Limit::allowed, "The standard deviation."}}};
  static constexpr double draw(auto& stream, double mean, double deviation) {
    return mean + deviation * stream.normal();
  }
};

struct Gamma {
  static constexpr const char* name = "gamma";
  static constexpr const char* doc = "Draws from the gamma distribution with shape alpha and scale beta.";
  static constexpr std::array<ParameterInfo, 2> parameters = {
      {{"alpha", 1, 0, Limit::allowed_in_arrays, "The shape."},
       {"beta", 1, 0, Limit::allowed_in_arrays, "The scale."}}};
  // Marsaglia and Tsang: A simple method for generating gamma variables, 2000.
  static constexpr double draw(auto& stream, double shape, double scale) {
    constexpr auto m = std::remove_reference_t<decltype(stream)>::math();
    if (shape == 0) return 0;
    double boost = 1;
    if (shape < 1) {
      boost = m.pow(stream.uniform_positive(), 1 / shape);
      shape += 1;
    }
    const double d = shape - 1.0 / 3, c = 1 / m.sqrt(9 * d);
    while (true) {
      const double x = stream.normal();
      const double root = 1 + c * x;
      if (root <= 0) continue;
      const double v = root * root * root;
      if (m.log(stream.uniform_positive()) < 0.5 * x * x + d - d * v + d * m.log(v))
        return boost * (d * v * scale);
    }
  }
};

struct Exponential {
  static constexpr const char* name = "exponential";
  static constexpr const char* doc = "Draws from the exponential distribution with rate lam.";
  static constexpr std::array<ParameterInfo, 1> parameters = {
      {{"lam", 1, 0, Limit::allowed_in_arrays, "The rate; the mean is 1 / lam."}}};
  static constexpr double draw(auto& stream, double rate, double) {
    constexpr auto m = std::remove_reference_t<decltype(stream)>::math();
    return rate == 0 ? std::numeric_limits<double>::infinity() : -m.log(stream.uniform_positive()) / rate;
  }
};

struct Poisson {
  static constexpr const char* name = "poisson";
  static constexpr const char* doc = "Draws counts from the Poisson distribution with mean lam.";
  static constexpr std::array<ParameterInfo, 1> parameters = {{{"lam", 1, 0, Limit::allowed, "The mean."}}};
  static constexpr double draw(auto& stream, double mean, double = 0) {
    if (mean - mean != 0) return mean;  // no draw would be accepted; of parameters whose product overflows
    return mean < 10 ? draw_by_product(stream, mean) : draw_by_rejection(stream, mean);
  }

 private:
  static constexpr double draw_by_product(auto& stream, double mean) {
    constexpr auto m = std::remove_reference_t<decltype(stream)>::math();
    const double limit = m.exp(-mean);
    double count = 0;
    for (double product = stream.uniform_positive(); product > limit; product *= stream.uniform_positive())
      ++count;
    return count;
  }
  // Hoermann's PTRS: The transformed rejection method for generating Poisson random variables, 1993.
  static constexpr double draw_by_rejection(auto& stream, double mean) {
    constexpr auto m = std::remove_reference_t<decltype(stream)>::math();
    const double log_mean = m.log(mean);
    const double b = 0.931 + 2.53 * m.sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double v_r = 0.9277 - 3.6224 / (b - 2);
    while (true) {
      const double u = stream.uniform() - 0.5;
      const double v = stream.uniform_positive();
      const double us = 0.5 - m.abs(u);
      const double k = m.floor((2 * a / us + b) * u + mean + 0.43);
      if (us >= 0.07 && v <= v_r) return k;
      if (k < 0 || (us < 0.013 && v > us)) continue;
      if (m.log(v * inverse_alpha / (a / (us * us) + b)) <= -mean + k * log_mean - m.lgamma(k + 1)) return k;
    }
  }
};

struct NegativeBinomial {
  static constexpr const char* name = "negative_binomial";
  static constexpr const char* doc =
      "Draws the number of failures before k successes, each of probability p.";
  static constexpr std::array<ParameterInfo, 2> parameters = {
      {{"k", 1, 0, Limit::allowed, "Number of successes."},
       {"p", 1, 0, Limit::refused, "Probability of a success."}}};
  static constexpr double draw(auto& stream, double k, double p) {
    return p >= 1 ? 0 : Poisson::draw(stream, Gamma::draw(stream, k, (1 - p) / p));
  }
};

struct GeneralizedNegativeBinomial {
  static constexpr const char* name = "generalized_negative_binomial";
  static constexpr const char* doc =
      "Draws counts with mean mu and dispersion alpha; with alpha 0, Poisson counts.";
  static constexpr std::array<ParameterInfo, 2> parameters = {
      {{"mu", 1, 0, Limit::allowed, "The mean."}, {"alpha", 1, 0, Limit::allowed, "The dispersion."}}};
  static constexpr double draw(auto& stream, double mean, double dispersion) {
    if (mean <= 0) return 0;
    return Poisson::draw(stream,
                         dispersion > 0 ? Gamma::draw(stream, 1 / dispersion, mean * dispersion) : mean);
  }
};

}  // namespace loomix::ops
