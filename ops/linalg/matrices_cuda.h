// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/device/cuda/launch.h"
#include "ndarray/tensor_view.h"
#include "ops/cuda/index.h"
#include "ops/linalg/matrices.h"

// What kernels on batches of matrices share on GPUs.
namespace loomix::cuda {

// Element (i, j) of a matrix of a batch with n columns and as many rows.
struct MatrixPlace {
  int64_t i, j;
  __device__ MatrixPlace(const Divider& n, int64_t element) {
    const int64_t row = n.quotient(element);
    j = element - row * n.divisor();
    i = row - n.quotient(row) * n.divisor();
  }
};

template <class T>
struct MirrorLower {
  Divider n;
  T* matrices;
  __device__ void operator()(int64_t element) const {
    const MatrixPlace at(n, element);
    if (at.j > at.i) matrices[element] = matrices[element + (at.j - at.i) * (n.divisor() - 1)];
  }
};

// What is below the diagonals is written above them, too.
inline void mirror_lower(const TensorView& matrices, cudaStream_t stream) {
  const int64_t n = matrices.shape[matrices.shape.ndim() - 1];
  dispatch_real(matrices.dtype, "linalg", [&]<class T>(Type<T>) {
    launch_each(stream, matrices.size(), MirrorLower<T>{Divider(n), matrices.mutable_as<T>()});
  });
}

}  // namespace loomix::cuda
