// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

// For *_simd.cc files only. Declares glibc's vector variants (libmvec), which <math.h> shows under -ffast-math only, so
// that loops over these functions vectorise while NaN and infinity keep their meaning.
// Overloads in the ISA's namespace choose by type. No inline code of these files is shared between instruction sets.
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

namespace loomix::ops::LOOMIX_ISA_NAMESPACE::m {

inline float exp(float x) { return ::expf(x); }
inline double exp(double x) { return ::exp(x); }
inline float expm1(float x) { return ::expm1f(x); }
inline double expm1(double x) { return ::expm1(x); }
inline float log(float x) { return ::logf(x); }
inline double log(double x) { return ::log(x); }
inline float log2(float x) { return ::log2f(x); }
inline double log2(double x) { return ::log2(x); }
inline float log10(float x) { return ::log10f(x); }
inline double log10(double x) { return ::log10(x); }
inline float log1p(float x) { return ::log1pf(x); }
inline double log1p(double x) { return ::log1p(x); }
inline float sin(float x) { return ::sinf(x); }
inline double sin(double x) { return ::sin(x); }
inline float cos(float x) { return ::cosf(x); }
inline double cos(double x) { return ::cos(x); }
inline float tan(float x) { return ::tanf(x); }
inline double tan(double x) { return ::tan(x); }
inline float asin(float x) { return ::asinf(x); }
inline double asin(double x) { return ::asin(x); }
inline float acos(float x) { return ::acosf(x); }
inline double acos(double x) { return ::acos(x); }
inline float atan(float x) { return ::atanf(x); }
inline double atan(double x) { return ::atan(x); }
inline float sinh(float x) { return ::sinhf(x); }
inline double sinh(double x) { return ::sinh(x); }
inline float cosh(float x) { return ::coshf(x); }
inline double cosh(double x) { return ::cosh(x); }
inline float tanh(float x) { return ::tanhf(x); }
inline double tanh(double x) { return ::tanh(x); }
inline float asinh(float x) { return ::asinhf(x); }
inline double asinh(double x) { return ::asinh(x); }
inline float acosh(float x) { return ::acoshf(x); }
inline double acosh(double x) { return ::acosh(x); }
inline float atanh(float x) { return ::atanhf(x); }
inline double atanh(double x) { return ::atanh(x); }
inline float cbrt(float x) { return ::cbrtf(x); }
inline double cbrt(double x) { return ::cbrt(x); }
inline float erf(float x) { return ::erff(x); }
inline double erf(double x) { return ::erf(x); }
inline float pow(float x, float y) { return ::powf(x, y); }
inline double pow(double x, double y) { return ::pow(x, y); }
inline float hypot(float x, float y) { return ::hypotf(x, y); }
inline double hypot(double x, double y) { return ::hypot(x, y); }
inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline float floor(float x) { return __builtin_floorf(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline float ceil(float x) { return __builtin_ceilf(x); }
inline double ceil(double x) { return __builtin_ceil(x); }
inline float trunc(float x) { return __builtin_truncf(x); }
inline double trunc(double x) { return __builtin_trunc(x); }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
inline float copysign(float x, float y) { return __builtin_copysignf(x, y); }
inline double copysign(double x, double y) { return __builtin_copysign(x, y); }

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE::m
