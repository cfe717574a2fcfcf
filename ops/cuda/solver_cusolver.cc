// SPDX-License-Identifier: Apache-2.0
#include <cusolverDn.h>

#include <type_traits>

#include "base/error.h"
#include "ops/cuda/handles.h"
#include "ops/cuda/solver.h"

namespace loomix::cuda {
namespace {

void check(cusolverStatus_t status, const char* what) {
  if (status == CUSOLVER_STATUS_SUCCESS) [[likely]]
    return;
  detail::throw_error<DeviceError>("[cuda] {} by cuSOLVER failed: status {}.", what,
                                   static_cast<int>(status));
}

struct SolverHandle {
  explicit SolverHandle(cudaStream_t stream) {
    check(cusolverDnCreate(&handle), "making a handle");
    check(cusolverDnSetStream(handle, stream), "setting a handle's stream");
  }
  cusolverDnHandle_t handle = nullptr;
};

constexpr auto kUpper = CUBLAS_FILL_MODE_UPPER;

template <class T, class Float, class Double>
constexpr auto of_type(Float for_float, Double for_double) {
  if constexpr (std::is_same_v<T, float>) return for_float;
  else return for_double;
}

template <class Fn>
void each_type(DType dtype, Fn&& fn) {
  if (dtype == DType::float64) fn(double{});
  else fn(float{});
}

template <class T>
int elements(cusolverDnHandle_t handle, Factoring what, int rows, int columns) {
  T* const none = nullptr;
  int count = 0;
  cusolverStatus_t status = CUSOLVER_STATUS_SUCCESS;
  switch (what) {
    case Factoring::cholesky:
      status = of_type<T>(cusolverDnSpotrf_bufferSize, cusolverDnDpotrf_bufferSize)(handle, kUpper, rows,
                                                                                    none, rows, &count);
      break;
    case Factoring::cholesky_inverse:
      status = of_type<T>(cusolverDnSpotri_bufferSize, cusolverDnDpotri_bufferSize)(handle, kUpper, rows,
                                                                                    none, rows, &count);
      break;
    case Factoring::lu:
      status = of_type<T>(cusolverDnSgetrf_bufferSize, cusolverDnDgetrf_bufferSize)(handle, rows, columns,
                                                                                    none, rows, &count);
      break;
    case Factoring::qr:
      status = of_type<T>(cusolverDnSgeqrf_bufferSize, cusolverDnDgeqrf_bufferSize)(handle, rows, columns,
                                                                                    none, rows, &count);
      break;
    case Factoring::qr_vectors:
      status = of_type<T>(cusolverDnSorgqr_bufferSize, cusolverDnDorgqr_bufferSize)(
          handle, rows, columns, columns, none, rows, none, &count);
      break;
    case Factoring::eigenvectors:
      status = of_type<T>(cusolverDnSsyevd_bufferSize, cusolverDnDsyevd_bufferSize)(
          handle, CUSOLVER_EIG_MODE_VECTOR, kUpper, rows, none, rows, none, &count);
      break;
    case Factoring::singular_values:
      status =
          of_type<T>(cusolverDnSgesvd_bufferSize, cusolverDnDgesvd_bufferSize)(handle, rows, columns, &count);
      break;
  }
  check(status, "the size of a workspace");
  return count;
}

// fn(handle, T's workspace, how many elements of it).
template <class Fn>
void call_typed(const SolverCall& call, const char* what, Fn&& fn) {
  handles<SolverHandle>().with(call.stream, [&](const SolverHandle& solver) {
    each_type(call.dtype, [&]<class T>(T) {
      check(fn(solver.handle, static_cast<T*>(call.workspace),
               static_cast<int>(call.workspace_bytes / sizeof(T))),
            what);
    });
  });
}

}  // namespace

size_t solver_workspace(Factoring what, DType dtype, int64_t rows, int64_t columns) {
  if (rows == 0 || columns == 0) return 0;
  size_t bytes = 0;
  handles<SolverHandle>().with(nullptr, [&](const SolverHandle& solver) {
    each_type(dtype, [&]<class T>(T) {
      bytes = sizeof(T) * static_cast<size_t>(elements<T>(solver.handle, what, static_cast<int>(rows),
                                                          static_cast<int>(columns)));
    });
  });
  return bytes;
}

void factor_cholesky(const SolverCall& call, int64_t order, void* a) {
  const int n = static_cast<int>(order);
  call_typed(call, "a Cholesky factor", [&]<class T>(cusolverDnHandle_t handle, T* work, int count) {
    return of_type<T>(cusolverDnSpotrf, cusolverDnDpotrf)(handle, kUpper, n, static_cast<T*>(a), n, work,
                                                          count, call.info);
  });
}

void invert_cholesky(const SolverCall& call, int64_t order, void* a) {
  const int n = static_cast<int>(order);
  call_typed(call, "an inverse", [&]<class T>(cusolverDnHandle_t handle, T* work, int count) {
    return of_type<T>(cusolverDnSpotri, cusolverDnDpotri)(handle, kUpper, n, static_cast<T*>(a), n, work,
                                                          count, call.info);
  });
}

void factor_lu(const SolverCall& call, int64_t order, void* a, int32_t* pivots) {
  const int n = static_cast<int>(order);
  call_typed(call, "LU factors", [&]<class T>(cusolverDnHandle_t handle, T* work, int) {
    return of_type<T>(cusolverDnSgetrf, cusolverDnDgetrf)(handle, n, n, static_cast<T*>(a), n, work, pivots,
                                                          call.info);
  });
}

void solve_lu(const SolverCall& call, const Solution& what, const void* lu, const int32_t* pivots, void* b) {
  const int n = static_cast<int>(what.n), columns = static_cast<int>(what.columns);
  const cublasOperation_t op = what.transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
  call_typed(call, "a solution", [&]<class T>(cusolverDnHandle_t handle, T*, int) {
    return of_type<T>(cusolverDnSgetrs, cusolverDnDgetrs)(handle, op, n, columns, static_cast<const T*>(lu),
                                                          n, pivots, static_cast<T*>(b), n, call.info);
  });
}

void factor_qr(const SolverCall& call, int64_t rows, int64_t columns, void* a, void* tau) {
  const int m = static_cast<int>(rows), n = static_cast<int>(columns);
  call_typed(call, "QR factors", [&]<class T>(cusolverDnHandle_t handle, T* work, int count) {
    return of_type<T>(cusolverDnSgeqrf, cusolverDnDgeqrf)(handle, m, n, static_cast<T*>(a), m,
                                                          static_cast<T*>(tau), work, count, call.info);
  });
}

void make_q(const SolverCall& call, int64_t rows, int64_t columns, void* a, const void* tau) {
  const int m = static_cast<int>(rows), n = static_cast<int>(columns);
  call_typed(call, "an orthogonal factor", [&]<class T>(cusolverDnHandle_t handle, T* work, int count) {
    return of_type<T>(cusolverDnSorgqr, cusolverDnDorgqr)(handle, m, n, n, static_cast<T*>(a), m,
                                                          static_cast<const T*>(tau), work, count, call.info);
  });
}

void factor_symmetric(const SolverCall& call, int64_t order, void* a, void* values) {
  const int n = static_cast<int>(order);
  call_typed(call, "eigenvectors", [&]<class T>(cusolverDnHandle_t handle, T* work, int count) {
    return of_type<T>(cusolverDnSsyevd, cusolverDnDsyevd)(handle, CUSOLVER_EIG_MODE_VECTOR, kUpper, n,
                                                          static_cast<T*>(a), n, static_cast<T*>(values),
                                                          work, count, call.info);
  });
}

void factor_singular(const SolverCall& call, int64_t rows, int64_t columns, void* a, void* u, void* values,
                     void* v) {
  const int m = static_cast<int>(rows), n = static_cast<int>(columns);
  call_typed(call, "singular values", [&]<class T>(cusolverDnHandle_t handle, T* work, int count) {
    return of_type<T>(cusolverDnSgesvd, cusolverDnDgesvd)(
        handle, 'S', 'S', m, n, static_cast<T*>(a), m, static_cast<T*>(values), static_cast<T*>(u), m,
        static_cast<T*>(v), n, work, count, nullptr, call.info);
  });
}

}  // namespace loomix::cuda
