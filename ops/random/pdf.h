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

// The mathematics of the host; that of a device has functions of the same names.
struct PdfMath {
  static double exp(double x) { return std::exp(x); }
  static double log(double x) { return std::log(x); }
  static double log1p(double x) { return std::log1p(x); }
  static double tan(double x) { return std::tan(x); }
  static double floor(double x) { return std::floor(x); }
  static double lgamma(double x) {
    int sign;
    return ::lgamma_r(x, &sign);  // lgamma would write the sign to a global
  }
};

struct UniformPdf {
  static constexpr const char* name = "uniform";
  static constexpr std::array parameters = {"low", "high"};
  template <class M = PdfMath>
  static constexpr double log(double x, double low, double high) {
    return x < low || x > high ? kImpossible : -M::log(high - low);
  }
  template <class M = PdfMath>
  static constexpr PdfSlopes slopes(double, double low, double high) {
    return {0, 1 / (high - low), -1 / (high - low)};
  }
};

struct NormalPdf {
  static constexpr const char* name = "normal";
  static constexpr std::array parameters = {"mu", "sigma"};
  template <class M = PdfMath>
  static constexpr double log(double x, double mean, double deviation) {
    const double z = (x - mean) / deviation;
    return -0.5 * z * z - M::log(deviation) - 0.5 * M::log(2 * special::kPi);
  }
  template <class M = PdfMath>
  static constexpr PdfSlopes slopes(double x, double mean, double deviation) {
    const double z = (x - mean) / deviation;
    return {-z / deviation, z / deviation, (z * z - 1) / deviation};
  }
};

struct GammaPdf {  // beta is a rate
  static constexpr const char* name = "gamma";
  static constexpr std::array parameters = {"alpha", "beta"};
  template <class M = PdfMath>
  static constexpr double log(double x, double alpha, double beta) {
    if (x < 0) return kImpossible;
    return alpha * M::log(beta) + (alpha - 1) * M::log(x) - beta * x - M::lgamma(alpha);
  }
  template <class M = PdfMath>
  static constexpr PdfSlopes slopes(double x, double alpha, double beta) {
    return {(alpha - 1) / x - beta, M::log(beta) + M::log(x) - special::digamma<M>(alpha), alpha / beta - x};
  }
};

struct ExponentialPdf {
  static constexpr const char* name = "exponential";
  static constexpr std::array parameters = {"lam"};
  template <class M = PdfMath>
  static constexpr double log(double x, double rate, double) {
    return x < 0 ? kImpossible : M::log(rate) - rate * x;
  }
  template <class M = PdfMath>
  static constexpr PdfSlopes slopes(double x, double rate, double) {
    return {-rate, 1 / rate - x};
  }
};

struct PoissonPdf {
  static constexpr const char* name = "poisson";
  static constexpr std::array parameters = {"lam"};
  template <class M = PdfMath>
  static constexpr double log(double x, double rate, double) {
    return x < 0 ? kImpossible : x * M::log(rate) - rate - M::lgamma(x + 1);
  }
  template <class M = PdfMath>
  static constexpr PdfSlopes slopes(double x, double rate, double) {
    return {0, x / rate - 1};
  }
};

struct NegativeBinomialPdf {  // k successes, each with probability p
  static constexpr const char* name = "negative_binomial";
  static constexpr std::array parameters = {"k", "p"};
  template <class M = PdfMath>
  static constexpr double log(double x, double k, double p) {
    if (x < 0) return kImpossible;
    const double failures = x == 0 ? 0 : x * M::log1p(-p);
    return M::lgamma(x + k) - M::lgamma(x + 1) - M::lgamma(k) + k * M::log(p) + failures;
  }
  template <class M = PdfMath>
  static constexpr PdfSlopes slopes(double x, double k, double p) {
    return {0, special::digamma<M>(x + k) - special::digamma<M>(k) + M::log(p), k / p - x / (1 - p)};
  }
};

struct GeneralizedNegativeBinomialPdf {  // of a mean and a dispersion
  static constexpr const char* name = "generalized_negative_binomial";
  static constexpr std::array parameters = {"mu", "alpha"};
  template <class M = PdfMath>
  static constexpr double log(double x, double mean, double alpha) {
    return NegativeBinomialPdf::log<M>(x, 1 / alpha, 1 / (1 + mean * alpha));
  }
  template <class M = PdfMath>
  static constexpr PdfSlopes slopes(double x, double mean, double alpha) {
    const double p = 1 / (1 + mean * alpha);
    const PdfSlopes inner = NegativeBinomialPdf::slopes<M>(x, 1 / alpha, p);
    return {0, -inner.second * alpha * p * p, -inner.first / (alpha * alpha) - inner.second * mean * p * p};
  }
};

// What the slopes of the logarithm are multiplied by; 0 where there is no density.
template <class M = PdfMath>
constexpr double pdf_chain(double head, double log, bool is_log) {
  if (log == kImpossible) return 0;
  return is_log ? head : head * M::exp(log);
}

struct PdfVectors {  // of the Dirichlet distribution
  int64_t elements, block, size;
  PdfVectors(const Shape& sample, const Shape& alpha)
      : elements(alpha.size_between(0, alpha.ndim() - 1)),
        block(sample.size_between(alpha.ndim() - 1, sample.ndim() - 1)),
        size(alpha[alpha.ndim() - 1]) {}
};

// Sample and parameters are what [i] gives numbers of.
template <class M = PdfMath, class X, class Alpha>
constexpr double dirichlet_log(const X& x, const Alpha& alpha, int64_t size) {
  double log = 0, total = 0;
  for (int64_t i = 0; i < size; ++i) {
    const auto a = static_cast<double>(alpha[i]);
    if (a != 1) log += (a - 1) * M::log(static_cast<double>(x[i]));
    log -= M::lgamma(a);
    total += a;
  }
  return log + M::lgamma(total);
}

}  // namespace loomix::ops
