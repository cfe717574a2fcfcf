// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "ops/elemwise/special.h"
#include "ops/op.h"

// Densities of distributions: one struct each, with the logarithm of the density and its slopes to the sample and to the
// parameters. The slope to a sample that is a count is 0.
namespace loomix::ops {

struct PdfParams {
  bool is_log = false;
  static void fields(FieldList<PdfParams>& f) {
    f("is_log", &PdfParams::is_log, "Gives the logarithm of the density.");
  }
};

struct PdfSlopes {
  double sample, first, second = 0;
};

inline constexpr double kImpossible = -std::numeric_limits<double>::infinity();

struct PdfMath {
  static double log(double x) { return std::log(x); }
  static double tan(double x) { return std::tan(x); }
  static double floor(double x) { return std::floor(x); }
};

inline double digamma(double x) { return special::digamma<PdfMath>(x); }
inline double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);  // lgamma would write the sign to a global
}

struct UniformPdf {
  static constexpr const char* name = "uniform";
  static constexpr std::array parameters = {"low", "high"};
  static double log(double x, double low, double high) {
    return x < low || x > high ? kImpossible : -std::log(high - low);
  }
  static PdfSlopes slopes(double, double low, double high) {
    return {0, 1 / (high - low), -1 / (high - low)};
  }
};

struct NormalPdf {
  static constexpr const char* name = "normal";
  static constexpr std::array parameters = {"mu", "sigma"};
  static double log(double x, double mean, double deviation) {
    const double z = (x - mean) / deviation;
    return -0.5 * z * z - std::log(deviation) - 0.5 * std::log(2 * special::kPi);
  }
  static PdfSlopes slopes(double x, double mean, double deviation) {
    const double z = (x - mean) / deviation;
    return {-z / deviation, z / deviation, (z * z - 1) / deviation};
  }
};

struct GammaPdf {  // beta is a rate
  static constexpr const char* name = "gamma";
  static constexpr std::array parameters = {"alpha", "beta"};
  static double log(double x, double alpha, double beta) {
    if (x < 0) return kImpossible;
    return alpha * std::log(beta) + (alpha - 1) * std::log(x) - beta * x - log_gamma(alpha);
  }
  static PdfSlopes slopes(double x, double alpha, double beta) {
    return {(alpha - 1) / x - beta, std::log(beta) + std::log(x) - digamma(alpha), alpha / beta - x};
  }
};

struct ExponentialPdf {
  static constexpr const char* name = "exponential";
  static constexpr std::array parameters = {"lam"};
  static double log(double x, double rate, double) { return x < 0 ? kImpossible : std::log(rate) - rate * x; }
  static PdfSlopes slopes(double x, double rate, double) { return {-rate, 1 / rate - x}; }
};

struct PoissonPdf {
  static constexpr const char* name = "poisson";
  static constexpr std::array parameters = {"lam"};
  static double log(double x, double rate, double) {
    return x < 0 ? kImpossible : x * std::log(rate) - rate - log_gamma(x + 1);
  }
  static PdfSlopes slopes(double x, double rate, double) { return {0, x / rate - 1}; }
};

struct NegativeBinomialPdf {  // k successes, each with probability p
  static constexpr const char* name = "negative_binomial";
  static constexpr std::array parameters = {"k", "p"};
  static double log(double x, double k, double p) {
    if (x < 0) return kImpossible;
    const double failures = x == 0 ? 0 : x * std::log1p(-p);
    return log_gamma(x + k) - log_gamma(x + 1) - log_gamma(k) + k * std::log(p) + failures;
  }
  static PdfSlopes slopes(double x, double k, double p) {
    return {0, digamma(x + k) - digamma(k) + std::log(p), k / p - x / (1 - p)};
  }
};

struct GeneralizedNegativeBinomialPdf {  // of a mean and a dispersion
  static constexpr const char* name = "generalized_negative_binomial";
  static constexpr std::array parameters = {"mu", "alpha"};
  static double log(double x, double mean, double alpha) {
    return NegativeBinomialPdf::log(x, 1 / alpha, 1 / (1 + mean * alpha));
  }
  static PdfSlopes slopes(double x, double mean, double alpha) {
    const double p = 1 / (1 + mean * alpha);
    const PdfSlopes inner = NegativeBinomialPdf::slopes(x, 1 / alpha, p);
    return {0, -inner.second * alpha * p * p, -inner.first / (alpha * alpha) - inner.second * mean * p * p};
  }
};

}  // namespace loomix::ops
