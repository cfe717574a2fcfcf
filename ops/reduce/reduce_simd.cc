// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <type_traits>

#include "ops/isa.h"
#include "ops/reduce/reductions.h"
#include "ops/simd_math.h"

// Rows are summed in a fixed number of lanes, so that every instruction set gives the same bits, however many rows there are.
namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int kLanes = 8;
constexpr int kAbreast = 4;  // rows at a time, so that additions need not wait for each other
constexpr int64_t kLongColumn = 32;
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

template <class F, class T>
constexpr bool kFoldsVectors = (std::is_same_v<F, fn::Max> ||
                                std::is_same_v<F, fn::Min>)&&std::is_same_v<T, float>;
template <class F, class T>
constexpr bool kSumsVectors = std::is_same_v<F, fn::Sum>&& std::is_same_v<T, float>;
// How many vectors of a row are added as they are, before their sum goes to the accumulators: to widen each element costs more
// than to add it. Three roundings of float32 are below what the result's own rounding makes of long sums.
template <class F, class T>
constexpr int kGroup = kSumsVectors<F, T> ? 8 : 1;

// Of `count` elements, `apart` from each other.
template <int count, class T>
T sum_of(const T* x, int64_t apart) {
  if constexpr (count == 1) return *x;
  else return sum_of<count / 2>(x, apart) + sum_of<count / 2>(x + count / 2 * apart, apart);
}

#if defined(__AVX__)
constexpr size_t kVectorBytes = 32;
#else
constexpr size_t kVectorBytes = 16;
#endif
constexpr int kFloats = kVectorBytes / sizeof(float), kDoubles = kVectorBytes / sizeof(double);
typedef float Floats __attribute__((vector_size(kVectorBytes)));
typedef double Doubles __attribute__((vector_size(kVectorBytes)));
typedef float HalfVector __attribute__((vector_size(kVectorBytes / 2)));
typedef float LooseFloats __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
typedef double LooseDoubles __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));

// As F::fold. Of plain loops g++ makes branches, for NaN's sake; and how vectors are returned depends on the processor.
template <class F, class V>
void fold_vector(V& acc, const V& x) {
  if constexpr (std::is_same_v<F, fn::Max>) acc = ((x > acc) | (x != x)) ? x : acc;
  else acc = ((x < acc) | (x != x)) ? x : acc;
}

// Folds `count` runs of as many elements as there are lanes, `apart` from each other, into an accumulator for each lane.
template <class F, int count>
void fold_extrema(double* acc, const float* x, int64_t apart) {
  for (int lane = 0; lane < kLanes; lane += kFloats, x += kFloats) {
    Floats result = *reinterpret_cast<const LooseFloats*>(x);
#pragma GCC unroll 8
    for (int i = 1; i < count; ++i) {
      const Floats more = *reinterpret_cast<const LooseFloats*>(x + i * apart);
      fold_vector<F>(result, more);
    }
    HalfVector halves[2];
    std::memcpy(halves, &result, sizeof(result));
    for (const HalfVector& half : halves) {
      LooseDoubles* const to = reinterpret_cast<LooseDoubles*>(acc);
      Doubles total = *to;
      const Doubles wide = __builtin_convertvector(half, Doubles);
      fold_vector<F>(total, wide);
      *to = total;
      acc += kDoubles;
    }
  }
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
              fold<F>(lanes[r][lane], static_cast<A>(sum_of<vectors>(x + r * step + lane, kLanes)), from[r]);
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

// Folds `abreast` rows; `together`: elements of a column are added before they are widened.
template <class F, class A, class T, int abreast, bool together = false>
void columns_abreast(A* acc, const T* x, const A* origin, int64_t count, int64_t step) {
  int64_t first = 0;
  if constexpr (kFoldsVectors<F, T>) {
    for (; first + kLanes <= count; first += kLanes) fold_extrema<F, abreast>(acc + first, x + first, step);
  }
#pragma omp simd
  for (int64_t i = first; i < count; ++i) {
    if constexpr (together) {
      acc[i] += static_cast<A>(sum_of<abreast>(x + i, step));
    } else {
      const A from = kHasOrigin<F, A> ? origin[i] : A(0);
      A total = acc[i];
#pragma GCC unroll 8
      for (int r = 0; r < abreast; ++r) total = fold<F>(total, static_cast<A>(x[r * step + i]), from);
      acc[i] = total;
    }
  }
}

template <class F, class A, class T>
void columns(void* totals, const void* data, const void* origin, int64_t count, int64_t rows, int64_t step) {
  A* const acc = static_cast<A*>(totals);
  const A* const from = static_cast<const A*>(origin);
  const T* x = static_cast<const T*>(data);
  if constexpr (kSumsVectors<F, T>) {
    constexpr int kRows = 8;
    if (rows >= kLongColumn) {
      for (; rows >= kRows; rows -= kRows, x += kRows * step)
        columns_abreast<F, A, T, kRows, true>(acc, x, from, count, step);
    }
    for (; rows >= kRows; rows -= kRows, x += kRows * step)
      columns_abreast<F, A, T, kRows>(acc, x, from, count, step);
  }
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
