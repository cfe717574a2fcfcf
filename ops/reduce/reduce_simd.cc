// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "ops/isa.h"
#include "ops/reduce/reductions.h"
#include "ops/simd_math.h"

// Rows are summed in a fixed number of lanes, so that every instruction set gives the same bits, however many rows there are.
namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int kLanes = 8;
constexpr int kAbreast = 4;        // rows at a time, so that additions need not wait for each other
constexpr int64_t kLongRow = 512;  // is seen as so many rows, whose results are merged

template <class F, class A>
constexpr bool kHasOrigin = requires(A x) {
  F::fold(Math{}, x, x, x);
};

template <class F, class A>
A fold(A acc, A x, [[maybe_unused]] A origin) {
  if constexpr (kHasOrigin<F, A>) return F::fold(Math{}, acc, x, origin);
  else return F::fold(Math{}, acc, x);
}

// How many vectors of a row are added as they are, before their sum goes to the accumulators: to widen each element costs more
// than to add it. Three roundings of float32 are below what the result's own rounding makes of long rows.
template <class F, class T>
constexpr int kGroup = std::is_same_v<F, fn::Sum>&& std::is_same_v<T, float> ? 8 : 1;

template <int vectors, class T>
T sum_of_lane(const T* x) {
  if constexpr (vectors == 1) return *x;
  else return sum_of_lane<vectors / 2>(x) + sum_of_lane<vectors / 2>(x + vectors / 2 * kLanes);
}

template <class F, class A>
void init(void* acc, int64_t count) {
  for (int64_t i = 0; i < count; ++i) static_cast<A*>(acc)[i] = F::init(Math{}, A{});
}

// Folds some rows, `step` elements apart, into an accumulator each; the groups of vectors of a row are `next` elements apart.
template <class F, class A, class T, int abreast>
void rows_abreast(A* acc, const T* x, const A* origin, int64_t count, int64_t step,
                  int64_t next = kGroup<F, T> * kLanes) {
  A lanes[abreast][kLanes], from[abreast] = {};
  for (int r = 0; r < abreast; ++r) {
    if constexpr (kHasOrigin<F, A>) from[r] = origin[r];
    for (int lane = 0; lane < kLanes; ++lane) lanes[r][lane] = F::init(Math{}, A{});
  }
  int64_t left = count;
  const auto fold_groups = [&]<int vectors>(std::integral_constant<int, vectors>, int64_t apart) {
    for (; left >= vectors * kLanes; left -= vectors * kLanes, x += apart) {
#pragma GCC unroll 4
      for (int r = 0; r < abreast; ++r) {
#pragma omp simd
        for (int lane = 0; lane < kLanes; ++lane)
          lanes[r][lane] =
              fold<F>(lanes[r][lane], static_cast<A>(sum_of_lane<vectors>(x + r * step + lane)), from[r]);
      }
    }
  };
  constexpr int kVectors = kGroup<F, T>;
  fold_groups(std::integral_constant<int, kVectors>{}, next);
  if constexpr (kVectors > 1) {
    fold_groups(std::integral_constant<int, 4>{}, 4 * kLanes);
    fold_groups(std::integral_constant<int, 2>{}, 2 * kLanes);
    fold_groups(std::integral_constant<int, 1>{}, kLanes);
  }
#pragma GCC unroll 4
  for (int r = 0; r < abreast; ++r) {
    A sum = F::init(Math{}, A{});
    for (int64_t i = 0; i < left; ++i) sum = fold<F>(sum, static_cast<A>(x[r * step + i]), from[r]);
#pragma GCC unroll 3
    for (int half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
      for (int lane = 0; lane < half; ++lane)
        lanes[r][lane] = F::merge(Math{}, lanes[r][lane], lanes[r][lane + half]);
    }
    acc[r] = F::merge(Math{}, acc[r], F::merge(Math{}, sum, lanes[r][0]));
  }
}

template <class F, class A, class T>
void rows(void* totals, const void* data, const void* origins, int64_t count, int64_t rows, int64_t step) {
  A* const acc = static_cast<A*>(totals);
  const T* const x = static_cast<const T*>(data);
  const A* const origin = static_cast<const A*>(origins);
  const auto origin_of = [&](int64_t row) { return kHasOrigin<F, A> ? origin + row : nullptr; };
  int64_t row = 0;
  for (; count >= kLongRow && row < rows; ++row) {  // every fourth group is one of a part's
    constexpr int64_t kStep = kGroup<F, T> * kLanes;
    const int64_t part = count / (kAbreast * kStep) * kStep, rest = part * kAbreast;
    A parts[kAbreast], from[kAbreast] = {};
    for (int i = 0; i < kAbreast; ++i) {
      parts[i] = F::init(Math{}, A{});
      if constexpr (kHasOrigin<F, A>) from[i] = origin[row];
    }
    rows_abreast<F, A, T, kAbreast>(parts, x + row * step, from, part, kStep, kAbreast * kStep);
    rows_abreast<F, A, T, 1>(acc + row, x + row * step + rest, origin_of(row), count - rest, 0);
    for (A more : parts) acc[row] = F::merge(Math{}, acc[row], more);
  }
  for (; row + kAbreast <= rows; row += kAbreast)
    rows_abreast<F, A, T, kAbreast>(acc + row, x + row * step, origin_of(row), count, step);
  for (; row < rows; ++row) rows_abreast<F, A, T, 1>(acc + row, x + row * step, origin_of(row), count, 0);
}

template <class F, class A, class T, int abreast>
void columns_abreast(A* acc, const T* x, const A* origin, int64_t count, int64_t step) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const A from = kHasOrigin<F, A> ? origin[i] : A(0);
    A total = acc[i];
#pragma GCC unroll 4
    for (int r = 0; r < abreast; ++r) total = fold<F>(total, static_cast<A>(x[r * step + i]), from);
    acc[i] = total;
  }
}

template <class F, class A, class T>
void columns(void* totals, const void* data, const void* origin, int64_t count, int64_t rows, int64_t step) {
  A* const acc = static_cast<A*>(totals);
  const A* const from = static_cast<const A*>(origin);
  const T* x = static_cast<const T*>(data);
  for (; rows >= kAbreast; rows -= kAbreast, x += kAbreast * step)
    columns_abreast<F, A, T, kAbreast>(acc, x, from, count, step);
  for (; rows > 0; --rows, x += step) columns_abreast<F, A, T, 1>(acc, x, from, count, step);
}

template <class F, class A>
void merge(void* acc, const void* other, int64_t count) {
  A* total = static_cast<A*>(acc);
  const A* more = static_cast<const A*>(other);
  for (int64_t i = 0; i < count; ++i) total[i] = F::merge(Math{}, total[i], more[i]);
}

template <class T, class A, class... F>
constexpr ReduceLoops kLoops[] = {{init<F, A>, rows<F, A, T>, columns<F, A, T>, merge<F, A>}...};

template <class... F>
constexpr ReduceTable table_of(Functors<F...>) {
  return {kLoops<float, double, F...>, kLoops<double, double, F...>, kLoops<int64_t, int64_t, F...>};
}

}  // namespace

template <>
const ReduceTable& compiled_loops() {
  static constexpr ReduceTable made = table_of(ReduceFunctors{});
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
