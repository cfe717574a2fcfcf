// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/leaky_relu_loops.h"
#include "ops/activation/leaky_relus.h"
#include "ops/isa.h"
#include "ops/simd_math.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

// The slope of element i, which stays in a register where all share it.
template <class T, bool own>
class SlopeOf {
 public:
  explicit SlopeOf(const void* slopes) : slopes_(static_cast<const T*>(slopes)), first_(*slopes_) {}
  T operator[](int64_t i) const { return own ? slopes_[i] : first_; }

 private:
  const T* slopes_;
  T first_;
};

template <class F, class T, bool own>
void forward(const void* data, const void* slopes, void* out, int64_t count) {
  const SlopeOf<T, own> slope(slopes);
  const T* x = static_cast<const T*>(data);
  T* y = static_cast<T*>(out);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = F::f(Math{}, x[i], slope[i]);
}

template <class F, class T, bool own>
void backward(const void* grad, const void* data, const void* slopes, void* out, int64_t count) {
  const SlopeOf<T, own> slope(slopes);
  const T* g = static_cast<const T*>(grad);
  const T* x = static_cast<const T*>(data);
  T* y = static_cast<T*>(out);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = g[i] * F::derivative(Math{}, x[i], slope[i]);
}

template <class F, class T, bool own>
void backward_twice(const void* head, const void* grad, const void* data, const void* slopes, void* out,
                    int64_t count) {
  const SlopeOf<T, own> slope(slopes);
  const T* h = static_cast<const T*>(head);
  const T* g = static_cast<const T*>(grad);
  const T* x = static_cast<const T*>(data);
  T* y = static_cast<T*>(out);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    y[i] = h[i] * g[i] * F::second_derivative(Math{}, x[i], slope[i]);
  }
}

template <class T, bool own, class... F>
constexpr LeakyLoops kLoops[] = {{forward<F, T, own>, backward<F, T, own>, backward_twice<F, T, own>}...};

template <class... F>
constexpr LeakyTable table_of(Functors<F...>) {
  return {kLoops<float, false, F...>, kLoops<float, true, F...>, kLoops<double, false, F...>,
          kLoops<double, true, F...>};
}

}  // namespace

template <>
const LeakyTable& compiled_loops() {
  static constexpr LeakyTable made = table_of(LeakyFunctors{});
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
