// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/linalg/linalg.h"
#include "ops/linalg/matrices.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Where element i of a diagonal of a matrix of order n lies.
struct Diagonal {
  int64_t first, step, length;
  Diagonal(int64_t n, int64_t offset)
      : first(offset >= 0 ? offset : -offset * n), step(n + 1), length(n - std::abs(offset)) {}
};

// A triangle, packed: row i of it has i + 1 elements. A lower one's rows are rows of the matrix, an upper one's columns.
struct Triangle {
  bool lower;
  int64_t distance, length, n;
  Triangle(const TriangleParams& p, int64_t n)
      : lower(p.offset < 0 || (p.offset == 0 && p.lower)),
        distance(std::abs(int64_t{p.offset})),
        length(n - distance),
        n(n) {}
  // Calls fn(place in the vector, place in the matrix).
  template <class Fn>
  void each(Fn&& fn) const {
    int64_t packed = 0;
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        fn(packed++, lower ? (i + distance) * n + j : j * n + i + distance);
      }
    }
  }
};

// Calls fn(a, in, out, item) for each matrix of a batch like `matrices`: what input and output 0 have for it.
template <class Fn>
void each_of(const char* who, const KernelArgs& args, const TensorView& matrices, Fn&& fn) {
  const Matrices a(matrices.shape);
  const int64_t count = std::max<int64_t>(1, a.count);
  const int64_t in_size = args.in[0].size() / count, out_size = args.out[0].size() / count;
  dispatch_real(args.out[0].dtype, who, [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    each_matrix(args, a.count, double(a.size()),
                [&](int64_t item) { fn(a, in + item * in_size, out + item * out_size, item); });
  });
}

template <class T>
void mirrored(const T* from, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) to[i * n + j] = to[j * n + i] = from[i * n + j] / 2;
  }
}

template <class T>
void folded(const T* from, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      to[i * n + j] = (from[i * n + j] + from[j * n + i]) / 2;
      to[j * n + i] = 0;
    }
    to[i * n + i] = from[i * n + i] / 2;
  }
}

template <class T>
void triangle(const T* from, T* to, int64_t n, bool lower) {
  for (int64_t i = 0; i < n; ++i, from += n, to += n) {
    const int64_t begin = lower ? 0 : i, end = lower ? i + 1 : n;
    std::fill(to, to + begin, T{0});
    std::copy(from + begin, from + end, to + begin);
    std::fill(to + end, to + n, T{0});
  }
}

void linalg_sumlogdiag_cpu(const KernelArgs& args) {
  each_of("linalg_sumlogdiag", args, args.in[0], [](const Matrices& a, const auto* in, auto* out, int64_t) {
    *out = 0;
    for (int64_t i = 0; i < a.rows; ++i) *out += std::log(in[i * (a.rows + 1)]);
  });
}

void linalg_extractdiag_cpu(const DiagonalParams& p, const KernelArgs& args) {
  each_of("linalg_extractdiag", args, args.in[0], [&](const Matrices& a, const auto* in, auto* out, int64_t) {
    const Diagonal d(a.rows, p.offset);
    for (int64_t i = 0; i < d.length; ++i) out[i] = in[d.first + i * d.step];
  });
}

void linalg_makediag_cpu(const DiagonalParams& p, const KernelArgs& args) {
  each_of("linalg_makediag", args, args.out[0], [&](const Matrices& a, const auto* in, auto* out, int64_t) {
    const Diagonal d(a.rows, p.offset);
    std::fill_n(out, a.size(), 0);
    for (int64_t i = 0; i < d.length; ++i) out[d.first + i * d.step] = in[i];
  });
}

void linalg_extracttrian_cpu(const TriangleParams& p, const KernelArgs& args) {
  each_of("linalg_extracttrian", args, args.in[0],
          [&](const Matrices& a, const auto* in, auto* out, int64_t) {
            Triangle(p, a.rows).each([&](int64_t packed, int64_t place) { out[packed] = in[place]; });
          });
}

void linalg_maketrian_cpu(const TriangleParams& p, const KernelArgs& args) {
  each_of("linalg_maketrian", args, args.out[0], [&](const Matrices& a, const auto* in, auto* out, int64_t) {
    std::fill_n(out, a.size(), 0);
    Triangle(p, a.rows).each([&](int64_t packed, int64_t place) { out[place] = in[packed]; });
  });
}

void linalg_triangle_part_cpu(const TrianglePartParams& p, const KernelArgs& args) {
  each_of("linalg_triangle_part", args, args.in[0],
          [&](const Matrices& a, const auto* in, auto* out, int64_t) {
            switch (p.part) {
              case TrianglePart::mirrored: return mirrored(in, out, a.rows);
              case TrianglePart::folded: return folded(in, out, a.rows);
              default: return triangle(in, out, a.rows, p.part == TrianglePart::lower);
            }
          });
}

void linalg_scale_cpu(const KernelArgs& args) {
  each_of("linalg_scale", args, args.in[0], [&](const Matrices& a, const auto* in, auto* out, int64_t item) {
    const auto factor = static_cast<decltype(in)>(args.in[1].data)[item];
    for (int64_t i = 0; i < a.size(); ++i) out[i] = in[i] * factor;
  });
}

void linalg_inner_cpu(const KernelArgs& args) {
  each_of("linalg_inner", args, args.in[0], [&](const Matrices& a, const auto* in, auto* out, int64_t item) {
    const auto* other = static_cast<decltype(in)>(args.in[1].data) + item * a.size();
    *out = std::inner_product(in, in + a.size(), other, std::remove_pointer_t<decltype(out)>{0});
  });
}

void linalg_gap_quotient_cpu(const KernelArgs& args) {
  each_of("linalg_gap_quotient", args, args.in[0],
          [&](const Matrices& a, const auto* in, auto* out, int64_t item) {
            const auto* values = static_cast<decltype(in)>(args.in[1].data) + item * a.rows;
            for (int64_t i = 0; i < a.rows; ++i) {
              for (int64_t j = 0; j < a.rows; ++j) {
                const auto gap = values[i] - values[j];
                const int64_t place = i * a.rows + j;
                out[place] = gap == 0 ? 0 : in[place] / gap;
              }
            }
          });
}

}  // namespace

void kernels_linalg_parts(OpTable& table) {
  table.kernel<linalg_sumlogdiag_cpu>("_linalg_sumlogdiag", "linalg_sumlogdiag_cpu");
  table.kernel<linalg_extractdiag_cpu>("_linalg_extractdiag", "linalg_extractdiag_cpu");
  table.kernel<linalg_makediag_cpu>("_linalg_makediag", "linalg_makediag_cpu");
  table.kernel<linalg_extracttrian_cpu>("_linalg_extracttrian", "linalg_extracttrian_cpu");
  table.kernel<linalg_maketrian_cpu>("_linalg_maketrian", "linalg_maketrian_cpu");
  table.kernel<linalg_triangle_part_cpu>("_linalg_triangle_part", "linalg_triangle_part_cpu");
  table.kernel<linalg_scale_cpu>("_linalg_scale", "linalg_scale_cpu");
  table.kernel<linalg_inner_cpu>("_linalg_inner", "linalg_inner_cpu");
  table.kernel<linalg_gap_quotient_cpu>("_linalg_gap_quotient", "linalg_gap_quotient_cpu");
}

}  // namespace loomix::ops
