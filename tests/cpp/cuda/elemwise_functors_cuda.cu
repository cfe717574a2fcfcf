// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ops/activation/leaky_relus.h"
#include "ops/elemwise/binary.h"
#include "ops/elemwise/unary.h"

// Every functor of the elementwise lists compiles for the device, in float and double and, where it has them, integers.
// Where there is a GPU, the device computes what the host does.
namespace loomix::ops {
namespace {

struct CudaMath {
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

template <class F, class T>
__host__ __device__ T apply(T a, T b) {
  constexpr CudaMath m{};
  if constexpr (requires { F::f(m, a, b); }) return F::f(m, a, b);
  else if constexpr (requires { F::f(m, a); }) return F::f(m, a);
  else return a;
}

// As a functor with one function, so that it is computed as the others are.
template <class F>
struct Derivatives {
  static constexpr auto f(auto m, Real auto x, Real auto slope) {
    return F::derivative(m, x, slope) + F::second_derivative(m, x, slope);
  }
};
template <class... F>
Functors<Derivatives<F>...> derivatives_of(Functors<F...>);

template <class T, class... F>
__host__ __device__ void apply_all(Functors<F...>, T a, T b, T* out) {
  int i = 0;
  ((out[i++] = apply<F>(a, b)), ...);
}

template <class T, class List>
__global__ void on_device(const T* a, const T* b, T* out) {
  const int i = static_cast<int>(threadIdx.x);
  apply_all(List{}, a[i], b[i], out + i * List::count);
}

template <class T>
class CudaFunctors : public ::testing::Test {};
using Types = ::testing::Types<float, double, int8_t, uint8_t, int32_t, int64_t>;
TYPED_TEST_SUITE(CudaFunctors, Types);

template <class T, class List>
void compare() {
  const std::vector<T> a = {T(0), T(1), T(2), T(0.25), T(-3), T(100)};
  const std::vector<T> b = {T(1), T(0), T(2), T(0.5), T(5), T(-7)};
  const size_t items = a.size() * List::count;
  T *da, *db, *dy;
  ASSERT_EQ(cudaMalloc(&da, a.size() * sizeof(T)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&db, b.size() * sizeof(T)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&dy, items * sizeof(T)), cudaSuccess);
  cudaMemcpy(da, a.data(), a.size() * sizeof(T), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), b.size() * sizeof(T), cudaMemcpyHostToDevice);
  on_device<T, List><<<1, static_cast<unsigned>(a.size())>>>(da, db, dy);
  std::vector<T> device(items), host(items);
  ASSERT_EQ(cudaMemcpy(device.data(), dy, items * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
  for (size_t i = 0; i < a.size(); ++i) apply_all(List{}, a[i], b[i], host.data() + i * List::count);
  for (size_t i = 0; i < items; ++i) {
    const auto x = static_cast<double>(host[i]), y = static_cast<double>(device[i]);
    if (!std::isfinite(x)) EXPECT_TRUE(x == y || (x != x && y != y)) << "functor " << i % List::count;
    else EXPECT_NEAR(x, y, 1e-5 * std::max(1.0, std::abs(x))) << "functor " << i % List::count;
  }
  cudaFree(da);
  cudaFree(db);
  cudaFree(dy);
}

TYPED_TEST(CudaFunctors, AreTheHosts) {
  int gpus = 0;
  cudaDeviceProp properties{};
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0 ||
      cudaGetDeviceProperties(&properties, 0) != cudaSuccess || properties.major < 1) {
    GTEST_SKIP() << "no GPU: only that they compile is shown";
  }
  compare<TypeParam, UnaryFunctors>();
  compare<TypeParam, BinaryFunctors>();
  compare<TypeParam, LeakyFunctors>();
  compare<TypeParam, decltype(derivatives_of(LeakyFunctors{}))>();
}

}  // namespace
}  // namespace loomix::ops
