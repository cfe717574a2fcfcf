// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

// For *_simd.cc files only. Declares glibc's vector variants (libmvec), which <math.h> shows under -ffast-math only, so
// that loops over these functions vectorise while NaN and infinity keep their meaning. Only those for x86-64 are complete: other
// processors call the functions one by one.
// `Math` is what functors of *_functors.h are instantiated with here: as a type of this namespace it keeps their code of
// one instruction set apart from that of the others. No inline code of these files is shared between instruction sets.
#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
extern "C" {
#pragma omp declare simd notinbranch
float expf(float) noexcept;
#pragma omp declare simd notinbranch
float expm1f(float) noexcept;
#pragma omp declare simd notinbranch
float logf(float) noexcept;
#pragma omp declare simd notinbranch
float log2f(float) noexcept;
#pragma omp declare simd notinbranch
float log10f(float) noexcept;
#pragma omp declare simd notinbranch
float log1pf(float) noexcept;
#pragma omp declare simd notinbranch
float sinf(float) noexcept;
#pragma omp declare simd notinbranch
float cosf(float) noexcept;
#pragma omp declare simd notinbranch
float tanf(float) noexcept;
#pragma omp declare simd notinbranch
float asinf(float) noexcept;
#pragma omp declare simd notinbranch
float acosf(float) noexcept;
#pragma omp declare simd notinbranch
float atanf(float) noexcept;
#pragma omp declare simd notinbranch
float sinhf(float) noexcept;
#pragma omp declare simd notinbranch
float coshf(float) noexcept;
#pragma omp declare simd notinbranch
float tanhf(float) noexcept;
#pragma omp declare simd notinbranch
float asinhf(float) noexcept;
#pragma omp declare simd notinbranch
float acoshf(float) noexcept;
#pragma omp declare simd notinbranch
float atanhf(float) noexcept;
#pragma omp declare simd notinbranch
float cbrtf(float) noexcept;
#pragma omp declare simd notinbranch
float erff(float) noexcept;
#pragma omp declare simd notinbranch
float powf(float, float) noexcept;
#pragma omp declare simd notinbranch
float hypotf(float, float) noexcept;
#pragma omp declare simd notinbranch
double exp(double) noexcept;
#pragma omp declare simd notinbranch
double expm1(double) noexcept;
#pragma omp declare simd notinbranch
double log(double) noexcept;
#pragma omp declare simd notinbranch
double log2(double) noexcept;
#pragma omp declare simd notinbranch
double log10(double) noexcept;
#pragma omp declare simd notinbranch
double log1p(double) noexcept;
#pragma omp declare simd notinbranch
double sin(double) noexcept;
#pragma omp declare simd notinbranch
double cos(double) noexcept;
#pragma omp declare simd notinbranch
double tan(double) noexcept;
#pragma omp declare simd notinbranch
double asin(double) noexcept;
#pragma omp declare simd notinbranch
double acos(double) noexcept;
#pragma omp declare simd notinbranch
double atan(double) noexcept;
#pragma omp declare simd notinbranch
double sinh(double) noexcept;
#pragma omp declare simd notinbranch
double cosh(double) noexcept;
#pragma omp declare simd notinbranch
double tanh(double) noexcept;
#pragma omp declare simd notinbranch
double asinh(double) noexcept;
#pragma omp declare simd notinbranch
double acosh(double) noexcept;
#pragma omp declare simd notinbranch
double atanh(double) noexcept;
#pragma omp declare simd notinbranch
double cbrt(double) noexcept;
#pragma omp declare simd notinbranch
double erf(double) noexcept;
#pragma omp declare simd notinbranch
double pow(double, double) noexcept;
#pragma omp declare simd notinbranch
double hypot(double, double) noexcept;
}
#pragma GCC diagnostic pop
#endif

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {

struct Math {
  static float exp(float x) { return ::expf(x); }
  static double exp(double x) { return ::exp(x); }
  static float expm1(float x) { return ::expm1f(x); }
  static double expm1(double x) { return ::expm1(x); }
  static float log(float x) { return ::logf(x); }
  static double log(double x) { return ::log(x); }
  static float log2(float x) { return ::log2f(x); }
  static double log2(double x) { return ::log2(x); }
  static float log10(float x) { return ::log10f(x); }
  static double log10(double x) { return ::log10(x); }
  static float log1p(float x) { return ::log1pf(x); }
  static double log1p(double x) { return ::log1p(x); }
  static float sin(float x) { return ::sinf(x); }
  static double sin(double x) { return ::sin(x); }
  static float cos(float x) { return ::cosf(x); }
  static double cos(double x) { return ::cos(x); }
  static float tan(float x) { return ::tanf(x); }
  static double tan(double x) { return ::tan(x); }
  static float asin(float x) { return ::asinf(x); }
  static double asin(double x) { return ::asin(x); }
  static float acos(float x) { return ::acosf(x); }
  static double acos(double x) { return ::acos(x); }
  static float atan(float x) { return ::atanf(x); }
  static double atan(double x) { return ::atan(x); }
  static float sinh(float x) { return ::sinhf(x); }
  static double sinh(double x) { return ::sinh(x); }
  static float cosh(float x) { return ::coshf(x); }
  static double cosh(double x) { return ::cosh(x); }
  static float tanh(float x) { return ::tanhf(x); }
  static double tanh(double x) { return ::tanh(x); }
  static float asinh(float x) { return ::asinhf(x); }
  static double asinh(double x) { return ::asinh(x); }
  static float acosh(float x) { return ::acoshf(x); }
  static double acosh(double x) { return ::acosh(x); }
  static float atanh(float x) { return ::atanhf(x); }
  static double atanh(double x) { return ::atanh(x); }
  static float cbrt(float x) { return ::cbrtf(x); }
  static double cbrt(double x) { return ::cbrt(x); }
  static float erf(float x) { return ::erff(x); }
  static double erf(double x) { return ::erf(x); }
  static float pow(float x, float y) { return ::powf(x, y); }
  static double pow(double x, double y) { return ::pow(x, y); }
  static float hypot(float x, float y) { return ::hypotf(x, y); }
  static double hypot(double x, double y) { return ::hypot(x, y); }
  static float sqrt(float x) { return __builtin_sqrtf(x); }
  static double sqrt(double x) { return __builtin_sqrt(x); }
  static float floor(float x) { return __builtin_floorf(x); }
  static double floor(double x) { return __builtin_floor(x); }
  static float ceil(float x) { return __builtin_ceilf(x); }
  static double ceil(double x) { return __builtin_ceil(x); }
  static float trunc(float x) { return __builtin_truncf(x); }
  static double trunc(double x) { return __builtin_trunc(x); }
  static float abs(float x) { return __builtin_fabsf(x); }
  static double abs(double x) { return __builtin_fabs(x); }
  static float copysign(float x, float y) { return __builtin_copysignf(x, y); }
  static double copysign(double x, double y) { return __builtin_copysign(x, y); }
  static float fmod(float x, float y) { return __builtin_fmodf(x, y); }
  static double fmod(double x, double y) { return __builtin_fmod(x, y); }
  static double erfc(double x) { return ::erfc(x); }
  static double tgamma(double x) { return ::tgamma(x); }
  static double lgamma(double x) {
    int sign;
    return ::lgamma_r(x, &sign);  // lgamma would write the sign to a global
  }
};

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
