// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/cuda/math.h"
#include "ops/cuda/reduce.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrices_cuda.h"

// Diagonals, triangles and the like: a thread for each element of the output, a warp for each sum.
namespace loomix::ops {
namespace {

using namespace cuda;

// Where element i of a diagonal of a matrix of order n lies.
struct Diagonal {
  int64_t first, step, length;
  Diagonal(int64_t n, int64_t offset)
      : first(offset >= 0 ? offset : -offset * n), step(n + 1), length(n - std::abs(offset)) {}
};

template <class T>
struct TakeDiagonal {
  Diagonal diagonal;
  Divider length;
  int64_t size;  // of a matrix
  const T* from;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t item = length.quotient(i);
    to[i] = from[item * size + diagonal.first + (i - item * length.divisor()) * diagonal.step];
  }
};
template <class T>
struct PutDiagonal {
  Divider n;
  int64_t offset, length;
  const T* from;
  T* to;
  __device__ void operator()(int64_t element) const {
    const MatrixPlace at(n, element);
    const int64_t item = element / (n.divisor() * n.divisor());
    to[element] = at.j - at.i == offset ? from[item * length + (offset >= 0 ? at.i : at.j)] : T{0};
  }
};

// A triangle, packed: row i of it has i + 1 elements. A lower one's rows are rows of the matrix, an upper one's columns.
struct Packed {
  bool lower;
  int64_t distance, length;
  Divider n;
  Packed(const TriangleParams& p, int64_t order)
      : lower(p.offset < 0 || (p.offset == 0 && p.lower)),
        distance(std::abs(int64_t{p.offset})),
        length(order - distance),
        n(order) {}
  __host__ __device__ int64_t elements() const { return length * (length + 1) / 2; }
  // The place in the vector; negative for what is outside of the triangle.
  __device__ int64_t place(const MatrixPlace& at) const {
    const int64_t row = (lower ? at.i : at.j) - distance, column = lower ? at.j : at.i;
    return row >= 0 && column <= row ? row * (row + 1) / 2 + column : -1;
  }
};

// A thread for each element of the matrices: most of a triangle's kernel is where it lies.
template <class T>
struct TakeTriangle {
  Packed packed;
  const T* from;
  T* to;
  __device__ void operator()(int64_t element) const {
    const int64_t place = packed.place(MatrixPlace(packed.n, element));
    const int64_t item = element / (packed.n.divisor() * packed.n.divisor());
    if (place >= 0) to[item * packed.elements() + place] = from[element];
  }
};
template <class T>
struct PutTriangle {
  Packed packed;
  const T* from;
  T* to;
  __device__ void operator()(int64_t element) const {
    const int64_t place = packed.place(MatrixPlace(packed.n, element));
    const int64_t item = element / (packed.n.divisor() * packed.n.divisor());
    to[element] = place >= 0 ? from[item * packed.elements() + place] : T{0};
  }
};

template <class T>
struct TakePart {
  TrianglePart part;
  Divider n;
  const T* from;
  T* to;
  __device__ void operator()(int64_t element) const {
    const MatrixPlace at(n, element);
    const int64_t other = element + (at.j - at.i) * (n.divisor() - 1);  // of the transpose
    switch (part) {
      case TrianglePart::lower: to[element] = at.j <= at.i ? from[element] : T{0}; break;
      case TrianglePart::upper: to[element] = at.j >= at.i ? from[element] : T{0}; break;
      case TrianglePart::mirrored: to[element] = from[at.j <= at.i ? element : other] / 2; break;
      default:
        to[element] = at.j > at.i    ? T{0}
                      : at.j == at.i ? from[element] / 2
                                     : (from[element] + from[other]) / 2;
        break;
    }
  }
};

template <class T>
struct Scale {
  Divider size;
  const T* from;
  const T* factors;
  T* to;
  __device__ void operator()(int64_t i) const { to[i] = from[i] * factors[size.quotient(i)]; }
};

template <class T>
struct GapQuotient {
  Divider n;
  const T* from;
  const T* values;
  T* to;
  __device__ void operator()(int64_t element) const {
    const MatrixPlace at(n, element);
    const T* const own = values + element / (n.divisor() * n.divisor()) * n.divisor();
    const T gap = own[at.i] - own[at.j];
    to[element] = gap == 0 ? T{0} : from[element] / gap;
  }
};

// Sums for each matrix, a warp each: of logarithms of the diagonal, or of products with another matrix.
template <class T>
__global__ void sum_matrices(int64_t count, int64_t terms, int64_t step, int64_t size, const T* a, const T* b,
                             T* out) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t warps = thread_count() / kWarp;
  for (int64_t item = thread_place() / kWarp; item < count; item += warps) {
    T sum = 0;
    for (int64_t i = lane; i < terms; i += kWarp) {
      const T x = a[item * size + i * step];
      sum += b == nullptr ? Math::log(x) : x * b[item * size + i];
    }
    sum = merge_warp(sum, Plus{});
    if (lane == 0) out[item] = sum;
  }
}

void sumlogdiag_cuda(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  dispatch_real(args.out[0].dtype, "linalg_sumlogdiag", [&]<class T>(Type<T>) {
    launch(sum_matrices<T>, grid_for(a.count * kWarp), stream_of(args), a.count, a.rows, a.rows + 1, a.size(),
           args.in[0].as<T>(), nullptr, args.out[0].mutable_as<T>());
  });
}

void inner_cuda(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  dispatch_real(args.out[0].dtype, "linalg_inner", [&]<class T>(Type<T>) {
    launch(sum_matrices<T>, grid_for(a.count * kWarp), stream_of(args), a.count, a.size(), 1, a.size(),
           args.in[0].as<T>(), args.in[1].as<T>(), args.out[0].mutable_as<T>());
  });
}

void extractdiag_cuda(const DiagonalParams& p, const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const Diagonal diagonal(a.rows, p.offset);
  dispatch_real(args.out[0].dtype, "linalg_extractdiag", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), args.out[0].size(),
                TakeDiagonal<T>{diagonal, Divider(diagonal.length), a.size(), args.in[0].as<T>(),
                                args.out[0].mutable_as<T>()});
  });
}

void makediag_cuda(const DiagonalParams& p, const KernelArgs& args) {
  const Matrices a(args.out[0].shape);
  dispatch_real(args.out[0].dtype, "linalg_makediag", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), args.out[0].size(),
                PutDiagonal<T>{Divider(a.rows), p.offset, Diagonal(a.rows, p.offset).length,
                               args.in[0].as<T>(), args.out[0].mutable_as<T>()});
  });
}

void extracttrian_cuda(const TriangleParams& p, const KernelArgs& args) {
  const Packed packed(p, Matrices(args.in[0].shape).rows);
  dispatch_real(args.out[0].dtype, "linalg_extracttrian", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), args.in[0].size(),
                TakeTriangle<T>{packed, args.in[0].as<T>(), args.out[0].mutable_as<T>()});
  });
}

void maketrian_cuda(const TriangleParams& p, const KernelArgs& args) {
  const Packed packed(p, Matrices(args.out[0].shape).rows);
  dispatch_real(args.out[0].dtype, "linalg_maketrian", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), args.out[0].size(),
                PutTriangle<T>{packed, args.in[0].as<T>(), args.out[0].mutable_as<T>()});
  });
}

void triangle_part_cuda(const TrianglePartParams& p, const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  dispatch_real(args.out[0].dtype, "linalg_triangle_part", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), args.out[0].size(),
                TakePart<T>{p.part, Divider(a.rows), args.in[0].as<T>(), args.out[0].mutable_as<T>()});
  });
}

void scale_cuda(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  dispatch_real(args.out[0].dtype, "linalg_scale", [&]<class T>(Type<T>) {
    launch_each(
        stream_of(args), args.out[0].size(),
        Scale<T>{Divider(a.size()), args.in[0].as<T>(), args.in[1].as<T>(), args.out[0].mutable_as<T>()});
  });
}

void gap_quotient_cuda(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  dispatch_real(args.out[0].dtype, "linalg_gap_quotient", [&]<class T>(Type<T>) {
    launch_each(
        stream_of(args), args.out[0].size(),
        GapQuotient<T>{Divider(a.rows), args.in[0].as<T>(), args.in[1].as<T>(), args.out[0].mutable_as<T>()});
  });
}

}  // namespace

void kernels_linalg_parts_cuda(KernelList& list) {
  constexpr auto gpu = DeviceType::gpu;
  list.kernel<sumlogdiag_cuda>("_linalg_sumlogdiag", "linalg_sumlogdiag_cuda", gpu);
  list.kernel<extractdiag_cuda>("_linalg_extractdiag", "linalg_extractdiag_cuda", gpu);
  list.kernel<makediag_cuda>("_linalg_makediag", "linalg_makediag_cuda", gpu);
  list.kernel<extracttrian_cuda>("_linalg_extracttrian", "linalg_extracttrian_cuda", gpu);
  list.kernel<maketrian_cuda>("_linalg_maketrian", "linalg_maketrian_cuda", gpu);
  list.kernel<triangle_part_cuda>("_linalg_triangle_part", "linalg_triangle_part_cuda", gpu);
  list.kernel<scale_cuda>("_linalg_scale", "linalg_scale_cuda", gpu);
  list.kernel<inner_cuda>("_linalg_inner", "linalg_inner_cuda", gpu);
  list.kernel<gap_quotient_cuda>("_linalg_gap_quotient", "linalg_gap_quotient_cuda", gpu);
}

}  // namespace loomix::ops
