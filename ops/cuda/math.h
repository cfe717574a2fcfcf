// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

// The mathematics of the device, for the functors of the operators' lists.
namespace loomix::cuda {

struct Math {
  __host__ __device__ static float exp(float x) { return ::expf(x); }
  __host__ __device__ static double exp(double x) { return ::exp(x); }
  __host__ __device__ static float expm1(float x) { return ::expm1f(x); }
  __host__ __device__ static double expm1(double x) { return ::expm1(x); }
  __host__ __device__ static float log(float x) { return ::logf(x); }
  __host__ __device__ static double log(double x) { return ::log(x); }
  __host__ __device__ static float log2(float x) { return ::log2f(x); }
  __host__ __device__ static double log2(double x) { return ::log2(x); }
  __host__ __device__ static float log10(float x) { return ::log10f(x); }
  __host__ __device__ static double log10(double x) { return ::log10(x); }
  __host__ __device__ static float log1p(float x) { return ::log1pf(x); }
  __host__ __device__ static double log1p(double x) { return ::log1p(x); }
  __host__ __device__ static float sin(float x) { return ::sinf(x); }
  __host__ __device__ static double sin(double x) { return ::sin(x); }
  __host__ __device__ static float cos(float x) { return ::cosf(x); }
  __host__ __device__ static double cos(double x) { return ::cos(x); }
  __host__ __device__ static float tan(float x) { return ::tanf(x); }
  __host__ __device__ static double tan(double x) { return ::tan(x); }
  __host__ __device__ static float asin(float x) { return ::asinf(x); }
  __host__ __device__ static double asin(double x) { return ::asin(x); }
  __host__ __device__ static float acos(float x) { return ::acosf(x); }
  __host__ __device__ static double acos(double x) { return ::acos(x); }
  __host__ __device__ static float atan(float x) { return ::atanf(x); }
  __host__ __device__ static double atan(double x) { return ::atan(x); }
  __host__ __device__ static float sinh(float x) { return ::sinhf(x); }
  __host__ __device__ static double sinh(double x) { return ::sinh(x); }
  __host__ __device__ static float cosh(float x) { return ::coshf(x); }
  __host__ __device__ static double cosh(double x) { return ::cosh(x); }
  __host__ __device__ static float tanh(float x) { return ::tanhf(x); }
  __host__ __device__ static double tanh(double x) { return ::tanh(x); }
  __host__ __device__ static float asinh(float x) { return ::asinhf(x); }
  __host__ __device__ static double asinh(double x) { return ::asinh(x); }
  __host__ __device__ static float acosh(float x) { return ::acoshf(x); }
  __host__ __device__ static double acosh(double x) { return ::acosh(x); }
  __host__ __device__ static float atanh(float x) { return ::atanhf(x); }
  __host__ __device__ static double atanh(double x) { return ::atanh(x); }
  __host__ __device__ static float cbrt(float x) { return ::cbrtf(x); }
  __host__ __device__ static double cbrt(double x) { return ::cbrt(x); }
  __host__ __device__ static float erf(float x) { return ::erff(x); }
  __host__ __device__ static double erf(double x) { return ::erf(x); }
  __host__ __device__ static float sqrt(float x) { return ::sqrtf(x); }
  __host__ __device__ static double sqrt(double x) { return ::sqrt(x); }
  __host__ __device__ static float floor(float x) { return ::floorf(x); }
  __host__ __device__ static double floor(double x) { return ::floor(x); }
  __host__ __device__ static float ceil(float x) { return ::ceilf(x); }
  __host__ __device__ static double ceil(double x) { return ::ceil(x); }
  __host__ __device__ static float trunc(float x) { return ::truncf(x); }
  __host__ __device__ static double trunc(double x) { return ::trunc(x); }
  __host__ __device__ static float abs(float x) { return ::fabsf(x); }
  __host__ __device__ static double abs(double x) { return ::fabs(x); }
  __host__ __device__ static float pow(float x, float y) { return ::powf(x, y); }
  __host__ __device__ static double pow(double x, double y) { return ::pow(x, y); }
  __host__ __device__ static float hypot(float x, float y) { return ::hypotf(x, y); }
  __host__ __device__ static double hypot(double x, double y) { return ::hypot(x, y); }
  __host__ __device__ static float copysign(float x, float y) { return ::copysignf(x, y); }
  __host__ __device__ static double copysign(double x, double y) { return ::copysign(x, y); }
  __host__ __device__ static float fmod(float x, float y) { return ::fmodf(x, y); }
  __host__ __device__ static double fmod(double x, double y) { return ::fmod(x, y); }
  __host__ __device__ static double erfc(double x) { return ::erfc(x); }
  __host__ __device__ static double tgamma(double x) { return ::tgamma(x); }
  __host__ __device__ static double lgamma(double x) { return ::lgamma(x); }
};

}  // namespace loomix::cuda
