// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/cuda/blas.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/math.h"
#include "ops/cuda/solver.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrices_cuda.h"
#include "ops/linalg/outputs.h"

// Factorisations one matrix after the other. The host cannot ask whether one failed without waiting for the device: where the CPU
// raises an error for a matrix, its result is NaN here.
namespace loomix::ops {
namespace {

using namespace cuda;

// Scratch memory of a kernel: an output that nobody wants, the library's workspace, a word for each matrix, and more.
class Memory {
 public:
  explicit Memory(std::span<std::byte> memory) : rest_(memory) {}
  template <class T>
  T* take(size_t bytes) {
    T* const piece = reinterpret_cast<T*>(rest_.data());
    rest_ = rest_.subspan(aligned(bytes));
    return piece;
  }

 private:
  std::span<std::byte> rest_;
};
size_t words(int64_t count) { return static_cast<size_t>(count) * sizeof(int32_t); }
size_t numbers(int64_t count, DType dtype) { return static_cast<size_t>(count * size_of(dtype)); }

SolverCall take_call(const KernelArgs& args, Memory& memory, size_t workspace, int64_t count) {
  void* const work = memory.take<std::byte>(workspace);
  return {args.in[0].dtype, stream_of(args), work, workspace, memory.take<int>(words(count))};
}
size_t call_bytes(size_t workspace, int64_t count) { return aligned(workspace) + aligned(words(count)); }

// Calls one(item, its call) for each matrix.
template <class One>
void each_item(const SolverCall& call, int64_t count, One&& one) {
  for (int64_t item = 0; item < count; ++item) {
    SolverCall own = call;
    own.info += item;
    one(item, own);
  }
}

// The lower triangle, zeros above it. `to` may be `from`.
template <class T>
struct KeepLower {
  Divider n;
  const T* from;
  T* to;
  __device__ void operator()(int64_t i) const {
    const MatrixPlace at(n, i);
    to[i] = at.j <= at.i ? from[i] : T{0};
  }
};
template <class T>
struct SetIdentity {
  Divider n;
  T* to;
  __device__ void operator()(int64_t i) const {
    const MatrixPlace at(n, i);
    to[i] = at.i == at.j ? T{1} : T{0};
  }
};
// NaN where a matrix could not be factored; `size` elements each.
template <class T>
struct Spoil {
  Divider size;
  const int* info;
  T* to;
  __device__ void operator()(int64_t i) const {
    if (info[size.quotient(i)] != 0) to[i] = std::numeric_limits<T>::quiet_NaN();
  }
};
template <class T>
void spoil(const SolverCall& call, const TensorView& view, int64_t size) {
  launch_each(call.stream, view.size(), Spoil<T>{Divider(size), call.info, view.mutable_as<T>()});
}

template <Factoring what>
size_t square_scratch(const KernelSpec& spec) {
  const Matrices a(spec.in[0].shape);
  return call_bytes(solver_workspace(what, spec.in[0].dtype, a.rows, a.rows), a.count);
}

// potrf and potri.
template <Factoring what>
void cholesky_cuda(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const TensorView& out = args.out[0];
  const int64_t n = a.rows;
  if (out.size() == 0) return;
  Memory memory(args.scratch);
  const SolverCall call = take_call(args, memory, args.scratch.size() - aligned(words(a.count)), a.count);
  dispatch_real(out.dtype, "linalg_potrf", [&]<class T>(Type<T>) {
    T* const to = out.mutable_as<T>();
    launch_each(call.stream, out.size(), KeepLower<T>{Divider(n), args.in[0].as<T>(), to});
    each_item(call, a.count, [&](int64_t item, const SolverCall& own) {
      if (what == Factoring::cholesky) factor_cholesky(own, n, to + item * n * n);
      else invert_cholesky(own, n, to + item * n * n);
    });
    if (what == Factoring::cholesky_inverse) cuda::mirror_lower(out, call.stream);
    spoil<T>(call, out, n * n);
  });
}

// --- LQ -----------------------------------------------------------------------------------------------------------

size_t qr_workspace(DType dtype, int64_t rows, int64_t columns) {
  return std::max(solver_workspace(Factoring::qr, dtype, rows, columns),
                  solver_workspace(Factoring::qr_vectors, dtype, rows, columns));
}

size_t gelqf_scratch(const KernelSpec& spec) {
  const Matrices a(spec.in[0].shape);
  const DType dtype = spec.in[0].dtype;
  return room_bytes(spec, 0) + aligned(numbers(a.rows, dtype)) +
         call_bytes(qr_workspace(dtype, a.columns, a.rows), a.count);
}

// What lies on and below the diagonal of the first columns of one matrix (m, n).
template <class T>
struct TakeLower {
  Divider m;
  int64_t row;
  const T* from;
  T* to;
  __device__ void operator()(int64_t k) const {
    const MatrixPlace at(m, k);
    to[k] = at.j <= at.i ? from[at.i * row + at.j] : T{0};
  }
};

// A row-major matrix is its transpose to the library, whose QR factors are Q^T and L^T.
void gelqf_cuda(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const int64_t m = a.rows, n = a.columns;
  if (a.count * m == 0) return;
  const DType dtype = args.in[0].dtype;
  dispatch_real(dtype, "linalg_gelqf", [&]<class T>(Type<T>) {
    Outputs outputs(args);
    T* const q = outputs.take<T>(0);
    T* const l = args.wanted<T>(1);
    Memory memory(outputs.rest());
    const size_t tau_bytes = numbers(m, dtype);
    T* const tau = memory.take<T>(tau_bytes);
    const SolverCall call = take_call(
        args, memory, outputs.rest().size() - aligned(tau_bytes) - aligned(words(a.count)), a.count);
    convert_array(args.in[0], {q, dtype, args.in[0].shape}, call.stream);
    each_item(call, a.count, [&](int64_t item, const SolverCall& own) {
      T* const matrix = q + item * m * n;
      factor_qr(own, n, m, matrix, tau);
      if (l) launch_each(call.stream, m * m, TakeLower<T>{Divider(m), n, matrix, l + item * m * m});
      make_q(own, n, m, matrix, tau);
    });
  });
}

// --- eigenvectors -------------------------------------------------------------------------------------------------

size_t syevd_scratch(const KernelSpec& spec) {
  return room_bytes(spec, 0) + room_bytes(spec, 1) + square_scratch<Factoring::eigenvectors>(spec);
}

// An eigenvector's sign is free: its largest element is positive, the first of several.
template <class T>
struct FixSign {
  int64_t n;
  T* vectors;
  __device__ void operator()(int64_t row) const {
    T* const vector = vectors + row * n;
    T largest = vector[0];
    for (int64_t i = 1; i < n; ++i) {
      if (Math::abs(vector[i]) > Math::abs(largest)) largest = vector[i];
    }
    if (largest >= 0) return;
    for (int64_t i = 0; i < n; ++i) vector[i] = -vector[i];
  }
};

void syevd_cuda(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const int64_t n = a.rows;
  if (a.count * n == 0) return;
  dispatch_real(args.in[0].dtype, "linalg_syevd", [&]<class T>(Type<T>) {
    Outputs outputs(args);
    const TensorView vectors{outputs.take<T>(0), args.in[0].dtype, args.in[0].shape};
    const TensorView values{outputs.take<T>(1), args.in[0].dtype, args.out[1].shape};
    Memory memory(outputs.rest());
    const SolverCall call = take_call(args, memory, outputs.rest().size() - aligned(words(a.count)), a.count);
    convert_array(args.in[0], vectors, call.stream);
    each_item(call, a.count, [&](int64_t item, const SolverCall& own) {
      factor_symmetric(own, n, vectors.mutable_as<T>() + item * n * n, values.mutable_as<T>() + item * n);
    });
    launch_each(call.stream, a.count * n, FixSign<T>{n, vectors.mutable_as<T>()});
    spoil<T>(call, vectors, n * n);
    spoil<T>(call, values, n);
  });
}

// --- LU -----------------------------------------------------------------------------------------------------------

// The inverse is the solution for the identity; the factors lie in scratch memory.
size_t inverse_scratch(const KernelSpec& spec) {
  const Matrices a(spec.in[0].shape);
  return aligned(static_cast<size_t>(spec.in[0].bytes())) + aligned(words(a.count * a.rows)) +
         square_scratch<Factoring::lu>(spec);
}

void inverse_cuda(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const int64_t n = a.rows;
  const TensorView& out = args.out[0];
  if (out.size() == 0) return;
  dispatch_real(out.dtype, "linalg_inverse", [&]<class T>(Type<T>) {
    Memory memory(args.scratch);
    const size_t matrix_bytes = static_cast<size_t>(out.bytes()), pivot_bytes = words(a.count * n);
    T* const lu = memory.take<T>(matrix_bytes);
    auto* const pivots = memory.take<int32_t>(pivot_bytes);
    const size_t used = aligned(matrix_bytes) + aligned(pivot_bytes) + aligned(words(a.count));
    const SolverCall call = take_call(args, memory, args.scratch.size() - used, a.count);
    convert_array(args.in[0], {lu, out.dtype, out.shape}, call.stream);
    T* const to = out.mutable_as<T>();
    launch_each(call.stream, out.size(), SetIdentity<T>{Divider(n), to});
    each_item(call, a.count, [&](int64_t item, const SolverCall& own) {
      factor_lu(own, n, lu + item * n * n, pivots + item * n);
    });
    spoil<T>(call, {lu, out.dtype, out.shape}, n * n);
    each_item(call, a.count, [&](int64_t item, const SolverCall& own) {
      solve_lu(own, {n, n}, lu + item * n * n, pivots + item * n, to + item * n * n);
    });
  });
}

// sign * exp(log) is the determinant; it is also multiplied up, since small numbers are exact then.
template <class T>
struct Determinants {
  int64_t n;
  const T* lu;
  const int32_t* pivots;
  T *det, *sign, *log;  // null: not wanted
  __device__ void operator()(int64_t item) const {
    T product = 1, own_sign = 1, own_log = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T factor = lu[(item * n + i) * n + i];
      const bool kept = pivots[item * n + i] == i + 1;
      product *= kept ? factor : -factor;
      own_log += Math::log(Math::abs(factor));
      if (!kept) own_sign = -own_sign;
      own_sign = factor < 0 ? -own_sign : factor == 0 ? T{0} : own_sign;
    }
    if (det != nullptr) det[item] = product;
    if (sign != nullptr) sign[item] = own_sign;
    if (log != nullptr) log[item] = own_log;
  }
};

// `numbers`: how many outputs come before the factors: det alone, or sign and log.
template <size_t numbers>
size_t determinant_scratch(const KernelSpec& spec) {
  return room_bytes(spec, numbers) + room_bytes(spec, numbers + 1) + square_scratch<Factoring::lu>(spec);
}

template <size_t numbers>
void determinant_cuda(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const int64_t n = a.rows;
  if (a.count == 0) return;
  dispatch_real(args.in[0].dtype, "linalg_det", [&]<class T>(Type<T>) {
    Outputs outputs(args);
    T* const lu = outputs.take<T>(numbers);
    auto* const pivots = outputs.take<int32_t>(numbers + 1);
    Memory memory(outputs.rest());
    const SolverCall call = take_call(args, memory, outputs.rest().size() - aligned(words(a.count)), a.count);
    convert_array(args.in[0], {lu, args.in[0].dtype, args.in[0].shape}, call.stream);
    each_item(call, n > 0 ? a.count : 0, [&](int64_t item, const SolverCall& own) {
      factor_lu(own, n, lu + item * n * n, pivots + item * n);
    });
    Determinants<T> of{n, lu, pivots, nullptr, nullptr, nullptr};
    if constexpr (numbers == 1) {
      of.det = args.wanted<T>(0);
    } else {
      of.sign = args.wanted<T>(0);
      of.log = args.wanted<T>(1);
    }
    launch_each(call.stream, a.count, of);
  });
}

// Pivots that are rows, for the library reads and writes where they say.
struct CheckPivots {
  int32_t n;
  const int32_t* from;
  int32_t* to;
  __device__ void operator()(int64_t i) const { to[i] = from[i] < 1 ? 1 : from[i] > n ? n : from[i]; }
};
// Zeros for a singular matrix, NaN where a pivot is no row.
template <class T>
struct CloseInverse {
  Divider size;
  int64_t n;
  const T* lu;
  const int32_t* pivots;
  T* to;
  __device__ void operator()(int64_t element) const {
    const int64_t item = size.quotient(element);
    bool singular = false, wrong = false;
    for (int64_t i = 0; i < n; ++i) {
      singular |= lu[(item * n + i) * n + i] == 0;
      wrong |= pivots[item * n + i] < 1 || pivots[item * n + i] > n;
    }
    if (wrong) to[element] = std::numeric_limits<T>::quiet_NaN();
    else if (singular) to[element] = 0;
  }
};

size_t inverse_of_lu_scratch(const KernelSpec& spec) {
  const Matrices a(spec.out[0].shape);
  return aligned(words(a.count * a.rows)) + call_bytes(0, a.count) + aligned(1);
}

void inverse_of_lu_cuda(const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const Matrices a(out.shape);
  const int64_t n = a.rows;
  if (out.size() == 0) return;
  dispatch_real(out.dtype, "linalg_inverse_of_lu", [&]<class T>(Type<T>) {
    Memory memory(args.scratch);
    auto* const pivots = memory.take<int32_t>(words(a.count * n));
    const SolverCall call{out.dtype, stream_of(args), memory.take<std::byte>(1), 0,
                          memory.take<int>(words(a.count))};
    const T* const lu = args.in[1].as<T>();
    T* const to = out.mutable_as<T>();
    const int32_t* const given = args.in[2].as<int32_t>();
    launch_each(call.stream, a.count * n, CheckPivots{static_cast<int32_t>(n), given, pivots});
    launch_each(call.stream, out.size(), SetIdentity<T>{Divider(n), to});
    each_item(call, a.count, [&](int64_t item, const SolverCall& own) {
      solve_lu(own, {n, n}, lu + item * n * n, pivots + item * n, to + item * n * n);
    });
    launch_each(call.stream, out.size(), CloseInverse<T>{Divider(n * n), n, lu, given, to});
  });
}

// Each matrix (rows, columns) of a batch as (columns, rows).
template <class T>
struct TurnMatrix {
  Divider rows, columns;
  const T* from;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t line = rows.quotient(i), row = i - line * rows.divisor();
    const int64_t item = columns.quotient(line), column = line - item * columns.divisor();
    to[i] = from[(item * rows.divisor() + row) * columns.divisor() + column];
  }
};
template <class T>
void turn_matrices(const Matrices& a, const T* from, T* to, cudaStream_t stream) {
  launch_each(stream, a.count * a.size(), TurnMatrix<T>{Divider(a.rows), Divider(a.columns), from, to});
}

size_t solve_scratch(const KernelSpec& spec) {
  const Matrices a(spec.in[0].shape);
  return aligned(static_cast<size_t>(spec.in[0].bytes())) + aligned(words(a.count * a.rows)) +
         aligned(static_cast<size_t>(spec.out[0].bytes())) + square_scratch<Factoring::lu>(spec);
}

// A row-major A is its transpose to the library, and the columns of B lie apart.
void solve_cuda(const SolveParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const Matrices a(args.in[0].shape), b(out.shape);
  const int64_t n = a.rows;
  if (out.size() == 0) return;
  dispatch_real(out.dtype, "linalg_solve", [&]<class T>(Type<T>) {
    Memory memory(args.scratch);
    const size_t matrix_bytes = static_cast<size_t>(args.in[0].bytes()), pivot_bytes = words(a.count * n);
    const size_t turned_bytes = static_cast<size_t>(out.bytes());
    T* const lu = memory.take<T>(matrix_bytes);
    auto* const pivots = memory.take<int32_t>(pivot_bytes);
    T* const turned = memory.take<T>(turned_bytes);
    const size_t used =
        aligned(matrix_bytes) + aligned(pivot_bytes) + aligned(turned_bytes) + aligned(words(a.count));
    const SolverCall call = take_call(args, memory, args.scratch.size() - used, a.count);
    convert_array(args.in[0], {lu, out.dtype, args.in[0].shape}, call.stream);
    turn_matrices(b, args.in[1].as<T>(), turned, call.stream);
    each_item(call, a.count, [&](int64_t item, const SolverCall& own) {
      factor_lu(own, n, lu + item * n * n, pivots + item * n);
    });
    spoil<T>(call, {lu, out.dtype, args.in[0].shape}, n * n);
    each_item(call, a.count, [&](int64_t item, const SolverCall& own) {
      solve_lu(own, {n, b.columns, !p.transpose}, lu + item * n * n, pivots + item * n,
               turned + item * b.size());
    });
    Matrices back = b;
    std::swap(back.rows, back.columns);
    turn_matrices(back, turned, out.mutable_as<T>(), call.stream);
  });
}

// --- singular values ------------------------------------------------------------------------------------------------

// The library wants matrices with at least as many rows as columns: a wide row-major one is that to it as it lies.
struct Svd {
  Matrices a;
  int64_t rank, length;
  explicit Svd(const Shape& shape)
      : a(shape), rank(std::min(a.rows, a.columns)), length(std::max(a.rows, a.columns)) {}
  size_t call_bytes(DType dtype) const {
    return ops::call_bytes(solver_workspace(Factoring::singular_values, dtype, length, rank), a.count);
  }
};

size_t svd_scratch(const KernelSpec& spec) {
  return room_bytes(spec, 0) + room_bytes(spec, 1) + room_bytes(spec, 2) +
         aligned(static_cast<size_t>(spec.in[0].bytes())) +
         Svd(spec.in[0].shape).call_bytes(spec.in[0].dtype);
}

// A^T = V^T s U^T: the library's left vectors are V's rows in memory, its right ones U's.
void svd_cuda(const KernelArgs& args) {
  const Svd svd(args.in[0].shape);
  const Matrices& a = svd.a;
  if (a.count * a.size() == 0) return;
  dispatch_real(args.in[0].dtype, "linalg_svd", [&]<class T>(Type<T>) {
    Outputs outputs(args);
    const TensorView u{outputs.take<T>(0), args.in[0].dtype, args.out[0].shape};
    const TensorView s{outputs.take<T>(1), args.in[0].dtype, args.out[1].shape};
    const TensorView v{outputs.take<T>(2), args.in[0].dtype, args.out[2].shape};
    Memory memory(outputs.rest());
    const auto matrix_bytes = static_cast<size_t>(args.in[0].bytes());
    T* const copy = memory.take<T>(matrix_bytes);
    const SolverCall call = take_call(
        args, memory, outputs.rest().size() - aligned(matrix_bytes) - aligned(words(a.count)), a.count);
    convert_array(args.in[0], {copy, args.in[0].dtype, args.in[0].shape}, call.stream);
    each_item(call, a.count, [&](int64_t item, const SolverCall& own) {
      factor_singular(own, svd.length, svd.rank, copy + item * a.size(), v.mutable_as<T>() + item * a.size(),
                      s.mutable_as<T>() + item * svd.rank, u.mutable_as<T>() + item * svd.rank * svd.rank);
    });
    spoil<T>(call, u, svd.rank * svd.rank);
    spoil<T>(call, s, svd.rank);
    spoil<T>(call, v, a.size());
  });
}

size_t pinv_scratch(const KernelSpec& spec) {
  const Svd svd(spec.in[0].shape);
  const DType dtype = spec.in[0].dtype;
  return 2 * aligned(static_cast<size_t>(spec.in[0].bytes())) +
         aligned(numbers(svd.a.count * svd.rank, dtype)) +
         aligned(numbers(svd.a.count * svd.rank * svd.rank, dtype)) + svd.call_bytes(dtype);
}

// (i, j) of V s^-1 U^T, from the factors of B = U s V^T: B is A, or A^T, whose pseudo-inverse is turned.
template <class T>
struct PseudoInverse {
  Divider size, rows;  // of the result's matrices, and of A's rows
  int64_t rank, length;
  bool turned;
  const T *u, *s, *v, *least;
  const int* info;
  T* to;
  __device__ void operator()(int64_t element) const {
    const int64_t item = size.quotient(element), within = element - item * size.divisor();
    const int64_t i = rows.quotient(within), j = within - i * rows.divisor();
    const int64_t along_u = turned ? i : j, along_v = turned ? j : i;
    const T* const values = s + item * rank;
    const T smallest = least[item] * values[0];
    T sum = 0;
    for (int64_t k = 0; k < rank; ++k) {
      if (values[k] > smallest)
        sum += u[item * size.divisor() + k * length + along_u] * v[(item * rank + along_v) * rank + k] /
               values[k];
    }
    to[element] = info[item] != 0 ? std::numeric_limits<T>::quiet_NaN() : sum;
  }
};

void pinv_cuda(const KernelArgs& args) {
  const Svd svd(args.in[0].shape);
  const Matrices& a = svd.a;
  if (a.count * a.size() == 0) return;
  const DType dtype = args.in[0].dtype;
  dispatch_real(dtype, "linalg_pinv", [&]<class T>(Type<T>) {
    Memory memory(args.scratch);
    const auto matrix_bytes = static_cast<size_t>(args.in[0].bytes());
    const size_t value_bytes = numbers(a.count * svd.rank, dtype);
    const size_t vector_bytes = numbers(a.count * svd.rank * svd.rank, dtype);
    T* const copy = memory.take<T>(matrix_bytes);
    T* const u = memory.take<T>(matrix_bytes);
    T* const s = memory.take<T>(value_bytes);
    T* const v = memory.take<T>(vector_bytes);
    const size_t used =
        2 * aligned(matrix_bytes) + aligned(value_bytes) + aligned(vector_bytes) + aligned(words(a.count));
    const SolverCall call = take_call(args, memory, args.scratch.size() - used, a.count);
    const bool is_wide = a.rows <= a.columns;
    if (is_wide) convert_array(args.in[0], {copy, dtype, args.in[0].shape}, call.stream);
    else turn_matrices(a, args.in[0].as<T>(), copy, call.stream);
    each_item(call, a.count, [&](int64_t item, const SolverCall& own) {
      factor_singular(own, svd.length, svd.rank, copy + item * a.size(), u + item * a.size(),
                      s + item * svd.rank, v + item * svd.rank * svd.rank);
    });
    launch_each(call.stream, args.out[0].size(),
                PseudoInverse<T>{Divider(a.size()), Divider(a.rows), svd.rank, svd.length, is_wide, u, s, v,
                                 args.in[1].as<T>(), call.info, args.out[0].mutable_as<T>()});
  });
}

size_t outside_of_rows_scratch(const KernelSpec& spec) {
  const Matrices a(spec.in[0].shape);
  return aligned(numbers(a.count * a.rows * a.rows, spec.in[0].dtype));
}

// G - G V^T V. Rows of a square V span everything, and rounding would be all that is left.
void outside_of_rows_cuda(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const TensorView& out = args.out[0];
  if (out.size() == 0) return;
  if (a.rows == a.columns) return cuda::fill(out, 0, stream_of(args));
  convert_array(args.in[0], out, stream_of(args));
  gemm(dense_gemm(out.dtype, a.rows, a.rows, a.columns, false, true, a.count), args.in[0].data,
       args.in[1].data, args.scratch.data(), stream_of(args));
  Gemm rest = dense_gemm(out.dtype, a.rows, a.columns, a.rows, false, false, a.count);
  rest.alpha = -1;
  rest.beta = 1;
  gemm(rest, args.scratch.data(), args.in[1].data, out.data, stream_of(args));
}

}  // namespace

void kernels_linalg_factors_cuda(KernelList& list) {
  constexpr auto gpu = DeviceType::gpu;
  list.kernel<cholesky_cuda<Factoring::cholesky>, square_scratch<Factoring::cholesky>>(
      "_linalg_potrf", "linalg_potrf_cusolver", gpu);
  list.kernel<cholesky_cuda<Factoring::cholesky_inverse>, square_scratch<Factoring::cholesky_inverse>>(
      "_linalg_potri", "linalg_potri_cusolver", gpu);
  list.kernel<gelqf_cuda, gelqf_scratch>("_linalg_gelqf", "linalg_gelqf_cusolver", gpu);
  list.kernel<syevd_cuda, syevd_scratch>("_linalg_syevd", "linalg_syevd_cusolver", gpu);
  list.kernel<inverse_cuda, inverse_scratch>("_linalg_inverse", "linalg_inverse_cusolver", gpu);
  list.kernel<determinant_cuda<1>, determinant_scratch<1>>("_linalg_det", "linalg_det_cusolver", gpu);
  list.kernel<determinant_cuda<2>, determinant_scratch<2>>("_linalg_slogdet", "linalg_slogdet_cusolver", gpu);
  list.kernel<solve_cuda, solve_scratch>("_linalg_solve", "linalg_solve_cusolver", gpu);
  list.kernel<svd_cuda, svd_scratch>("_linalg_svd", "linalg_svd_cusolver", gpu);
  list.kernel<pinv_cuda, pinv_scratch>("_linalg_pinv", "linalg_pinv_cusolver", gpu);
  list.kernel<outside_of_rows_cuda, outside_of_rows_scratch>("_linalg_outside_of_rows",
                                                             "linalg_outside_of_rows_cublas", gpu);
  list.kernel<inverse_of_lu_cuda, inverse_of_lu_scratch>("_linalg_inverse_of_lu",
                                                         "linalg_inverse_of_lu_cusolver", gpu);
}

}  // namespace loomix::ops
