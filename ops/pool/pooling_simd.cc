// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "ops/isa.h"
#include "ops/pool/pooling_kernels.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors pass between functions of this file only

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

template <int L>
struct Types;
template <>
struct Types<4> {
  typedef float Vector __attribute__((vector_size(16)));
  typedef float Loose __attribute__((vector_size(16), aligned(4), may_alias));
  typedef int Mask __attribute__((vector_size(16)));
  typedef BytePlace Bytes __attribute__((vector_size(4), aligned(1), may_alias));
};
template <>
struct Types<16> {
  typedef float Vector __attribute__((vector_size(64)));
  typedef float Loose __attribute__((vector_size(64), aligned(4), may_alias));
  typedef int Mask __attribute__((vector_size(64)));
  typedef BytePlace Bytes __attribute__((vector_size(16), aligned(1), may_alias));
};
template <>
struct Types<8> {
  typedef float Vector __attribute__((vector_size(32)));
  typedef float Loose __attribute__((vector_size(32), aligned(4), may_alias));
  typedef int Mask __attribute__((vector_size(32)));
  typedef BytePlace Bytes __attribute__((vector_size(8), aligned(1), may_alias));
};

template <int L>
struct Lanes {
  using Vector = typename Types<L>::Vector;
  using Loose = typename Types<L>::Loose;
  using Mask = typename Types<L>::Mask;

  using Bytes = typename Types<L>::Bytes;

  static Vector load(const float* from) { return *reinterpret_cast<const Loose*>(from); }
  static void store(float* to, Vector value) { *reinterpret_cast<Loose*>(to) = value; }
  static Mask load_places(const BytePlace* from) {
    return __builtin_convertvector(*reinterpret_cast<const Bytes*>(from), Mask);
  }
  static void store_places(BytePlace* to, Mask places) {
    *reinterpret_cast<Bytes*>(to) = __builtin_convertvector(places, Bytes);
  }
  // Every second element of two vectors, from the first one or the second one on.
  static void split(const float* from, Vector& even, Vector& odd) {
    const Vector low = load(from), high = load(from + L);
    even = every_second<0>(low, high, kAll);
    odd = every_second<1>(low, high, kAll);
  }
  static void join(float* to, Vector even, Vector odd) {
    store(to, in_turns<0>(even, odd, kAll));
    store(to + L, in_turns<L / 2>(even, odd, kAll));
  }

 private:
  static constexpr std::make_integer_sequence<int, L> kAll = {};
  template <int kFirst, int... kLane>
  static Vector every_second(Vector low, Vector high, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(low, high, (kFirst + 2 * kLane)...);
  }
  template <int kFirst, int... kLane>
  static Vector in_turns(Vector even, Vector odd, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(even, odd, (kFirst + kLane / 2 + kLane % 2 * L)...);
  }
};

template <>
struct Lanes<1> {
  using Vector = float;
  using Mask = int;
  static float load(const float* from) { return *from; }
  static void store(float* to, float value) { *to = value; }
  static int load_places(const BytePlace* from) { return *from; }
  static void store_places(BytePlace* to, int place) { *to = static_cast<BytePlace>(place); }
  static void split(const float* from, float& even, float& odd) {
    even = from[0];
    odd = from[1];
  }
  static void join(float* to, float even, float odd) {
    to[0] = even;
    to[1] = odd;
  }
};

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
static_assert(kMaxStep % kLanes == 0);

bool has_nan(const float* data, int64_t count) {
  int found = 0;
#pragma omp simd reduction(| : found)
  for (int64_t i = 0; i < count; ++i) found |= data[i] != data[i];
  return found != 0;
}

// For a few items; a call of memcpy takes longer.
template <class T>
inline void copy(const T* from, int64_t count, T* to) {
  const auto step = [&]<int64_t n>(std::integral_constant<int64_t, n>) {
    for (; count >= n; count -= n, from += n, to += n) std::memcpy(to, from, n * sizeof(T));
  };
  step(std::integral_constant<int64_t, 16>{});
  step(std::integral_constant<int64_t, 4>{});
  step(std::integral_constant<int64_t, 1>{});
}

// By vectors of L. Kernel and stride of 0 are any, and then NaN is the largest number; else there is none.
template <int L, int kernel, int stride, bool with_places>
struct Maxima {
  using V = typename Lanes<L>::Vector;
  using M = typename Lanes<L>::Mask;
  typedef int32_t LoosePlaces __attribute__((vector_size(4 * L), aligned(4), may_alias));

  // The first of several maxima stays.
  static void meet(V& best, M& place, V value, M code) {
    M better = value > best;
    if constexpr (kernel == 0) better |= value != value;
    best = better ? value : best;
    if constexpr (with_places) place = better ? code : place;
  }

  static void along_line(const MaxPlan& plan, const float* line, float* maxima, int32_t* places) {
    for (int64_t w = 0; w < plan.windows; w += L) {
      const float* const from = line + w * plan.stride;
      V best = V{} - std::numeric_limits<float>::infinity();
      M place = {};
      for (int i = 0; with_places && i < L && (w + i) * plan.stride < plan.pad; ++i)
        place[i] = static_cast<int>(plan.pad - (w + i) * plan.stride);  // the first that is data
      if constexpr (stride == 1) {
#pragma GCC unroll 3
        for (int j = 0; j < kernel; ++j) meet(best, place, Lanes<L>::load(from + j), M{} + j);
      } else if constexpr (stride == 2) {
        V even, odd;
#pragma GCC unroll 2
        for (int j = 0; j < kernel; j += 2) {
          Lanes<L>::split(from + j, even, odd);
          meet(best, place, even, M{} + j);
          if (j + 1 < kernel) meet(best, place, odd, M{} + (j + 1));
        }
      } else {
        for (int j = 0; j < plan.kernel; ++j) {
          V value;
          for (int i = 0; i < L; ++i) value[i] = from[j + i * plan.stride];
          meet(best, place, value, M{} + j);
        }
      }
      Lanes<L>::store(maxima + w, best);
      if constexpr (with_places) *reinterpret_cast<LoosePlaces*>(places + w) = place;
    }
  }

  static void across_lines(const MaxPlan& plan, const MaxPlan::Line* lines, int64_t count,
                           const MaxBuffers& buffers, float* out, BytePlace* out_places) {
    for (int64_t w = 0; w < plan.windows; w += L) {
      const auto place_of = [&](const MaxPlan::Line& line) -> M {
        if constexpr (with_places) {
          const int32_t* const from = buffers.places + line.slot * plan.slot + w;
          return *reinterpret_cast<const LoosePlaces*>(from) + line.code;
        } else {
          return M{};
        }
      };
      V best = Lanes<L>::load(buffers.maxima + lines[0].slot * plan.slot + w);
      M place = place_of(lines[0]);
      for (int64_t i = 1; i < count; ++i) {
        const V value = Lanes<L>::load(buffers.maxima + lines[i].slot * plan.slot + w);
        meet(best, place, value, place_of(lines[i]));
      }
      if (w + L <= plan.windows) {
        Lanes<L>::store(out + w, best);
        if constexpr (with_places) Lanes<L>::store_places(out_places + w, place);
        continue;
      }
      float last[kMaxStep];
      Lanes<L>::store(last, best);
      copy(last, plan.windows - w, out + w);
      if constexpr (with_places) {
        BytePlace last_places[kMaxStep];
        Lanes<L>::store_places(last_places, place);
        copy(last_places, plan.windows - w, out_places + w);
      }
    }
  }

  static void run(const MaxPlan& plan, const float* plane, const MaxBuffers& buffers, float* out,
                  BytePlace* places) {
    for (int64_t r = 0; r < plan.num_rows; ++r) {
      const MaxPlan::Row& row = plan.rows[r];
      const MaxPlan::Line* const lines = plan.lines + row.first;
      for (int64_t i = 0; i < row.count; ++i) {
        if (!lines[i].is_new) continue;
        const float* from = plane + lines[i].offset;
        if (plan.copies) {
          copy(from, plan.columns, buffers.line + plan.pad);
          from = buffers.line;
        }
        const int64_t slot = lines[i].slot * plan.slot;
        along_line(plan, from, buffers.maxima + slot, buffers.places + slot);
      }
      if (row.count > 0) across_lines(plan, lines, row.count, buffers, out, places);
      for (int64_t w = row.count > 0 ? plan.inside : 0; w < plan.windows; ++w) {
        out[w] = -std::numeric_limits<float>::infinity();
        if constexpr (with_places) places[w] = kNoPlace<BytePlace>;
      }
      out += plan.windows;
      if constexpr (with_places) places += plan.windows;
    }
  }
};

template <int L, bool with_places>
auto maxima_for(int64_t kernel, int64_t stride) {
  if (kernel == 2 && stride == 1) return Maxima<L, 2, 1, with_places>::run;
  if (kernel == 2 && stride == 2) return Maxima<L, 2, 2, with_places>::run;
  if (kernel == 3 && stride == 1) return Maxima<L, 3, 1, with_places>::run;
  if (kernel == 3 && stride == 2) return Maxima<L, 3, 2, with_places>::run;
  return Maxima<L, 0, 0, with_places>::run;
}

void max_plane(const MaxPlan& plan, const float* plane, int64_t size, const MaxBuffers& buffers, float* out,
               BytePlace* places) {
  const int64_t kernel = has_nan(plane, size) ? 0 : plan.kernel;
  const bool narrow = plan.windows <= 8;
  const auto run =
      narrow ? (places ? maxima_for<8, true>(kernel, plan.stride) : maxima_for<8, false>(kernel, plan.stride))
             : (places ? maxima_for<kLanes, true>(kernel, plan.stride)
                       : maxima_for<kLanes, false>(kernel, plan.stride));
  run(plan, plane, buffers, out, places);
}

template <int L, bool with_places>
inline void max2_windows(const float* top, const float* bottom, float* out, BytePlace* places) {
  using V = typename Lanes<L>::Vector;
  V values[4];
  Lanes<L>::split(top, values[0], values[1]);
  Lanes<L>::split(bottom, values[2], values[3]);
  V best = values[0];
  auto place = typename Lanes<L>::Mask{};
  for (int i = 1; i < 4; ++i) {
    const auto better = (values[i] > best) | (values[i] != values[i]);
    best = better ? values[i] : best;
    if constexpr (with_places) place = better ? typename Lanes<L>::Mask{} + i : place;
  }
  Lanes<L>::store(out, best);
  if constexpr (with_places) Lanes<L>::store_places(places, place);
}

template <bool with_places>
void max2_with(int64_t out_height, int64_t out_width, int64_t width, const float* data, float* out,
               BytePlace* places) {
  for (int64_t h = 0; h < out_height; ++h, data += 2 * width, out += out_width) {
    int64_t w = 0;
    const auto step = [&]<int L>(Lanes<L>) {
      for (; w + L <= out_width; w += L) {
        max2_windows<L, with_places>(data + 2 * w, data + width + 2 * w, out + w,
                                     with_places ? places + w : nullptr);
      }
    };
    step(Lanes<kLanes>{});
    step(Lanes<8>{});
    step(Lanes<4>{});
    step(Lanes<1>{});
    if constexpr (with_places) places += out_width;
  }
}

void max2(int64_t out_height, int64_t out_width, int64_t width, const float* data, float* out,
          BytePlace* places) {
  if (places) max2_with<true>(out_height, out_width, width, data, out, places);
  else max2_with<false>(out_height, out_width, width, data, out, nullptr);
}

template <int L>
inline void max2_windows_backward(const float* grad, const BytePlace* places, float* top, float* bottom) {
  using V = typename Lanes<L>::Vector;
  const V g = Lanes<L>::load(grad);
  const V zero = {};
  const auto place = Lanes<L>::load_places(places);
  const auto part = [&](int at) -> V { return place == at ? g : zero; };
  Lanes<L>::join(top, part(0), part(1));
  Lanes<L>::join(bottom, part(2), part(3));
}

void max2_backward(int64_t out_height, int64_t out_width, int64_t width, const float* grad,
                   const BytePlace* places, float* out) {
  for (int64_t h = 0; h < out_height; ++h, out += 2 * width, grad += out_width, places += out_width) {
    int64_t w = 0;
    const auto step = [&]<int L>(Lanes<L>) {
      for (; w + L <= out_width; w += L)
        max2_windows_backward<L>(grad + w, places + w, out + 2 * w, out + width + 2 * w);
    };
    step(Lanes<kLanes>{});
    step(Lanes<8>{});
    step(Lanes<4>{});
    step(Lanes<1>{});
  }
}

}  // namespace

template <>
const PoolKernels& compiled_loops() {
  static constexpr PoolKernels kernels = {max_plane, max2, max2_backward};
  return kernels;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
