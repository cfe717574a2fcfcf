// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/settings.h"
#include "engine/device/cuda/launch.h"
#include "ops/cuda/arrays.h"
#include "ops/cuda/blas.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/rnn/rnn_pieces.h"

// What the forward and the backward run of recurrent layers share on GPUs. They are matrix products and kernels of one unit a thread,
// not cuDNN's: those have no clipped cells, and they want lengths on the host.
namespace loomix::cuda {

// An input or output as numbers of type C. Halves, and outputs that nobody wants, live in scratch memory.
template <class C>
class RnnDeviceArray {
 public:
  RnnDeviceArray() = default;
  RnnDeviceArray(const TensorView& view, bool wanted, ops::ScratchPieces& pieces)
      : view_(view),
        wanted_(wanted),
        own_(wanted && view.dtype == dtype_of<C>() ? nullptr : pieces.take<C>(view.size())) {}

  C* target() const { return own_ ? own_ : static_cast<C*>(view_.data); }
  const C* load(cudaStream_t stream) const {
    if (own_) convert_array(view_, own(), stream);
    return target();
  }
  void store(cudaStream_t stream) const {
    if (own_ && wanted_) convert_array(own(), view_, stream);
  }

 private:
  TensorView own() const { return {own_, dtype_of<C>(), view_.shape}; }
  TensorView view_;
  bool wanted_ = false;
  C* own_ = nullptr;
};

struct ReadLength {
  AnyArray from;
  int64_t steps;
  int64_t* to;
  __device__ void operator()(int64_t i) const {
    const double length = from[i];
    to[i] = length >= 0 ? (length <= static_cast<double>(steps) ? static_cast<int64_t>(length) : steps) : 0;
  }
};
// The number of steps of each sequence, cut to what there is: nobody could raise an error here.
inline void read_lengths(const ops::RnnShape& s, const TensorView& lengths, int64_t* to,
                         cudaStream_t stream) {
  launch_each(stream, s.batch, ReadLength{AnyArray(lengths), s.steps, to});
}

// Whether step t is one of sequence n's.
__device__ inline bool is_step(const int64_t* lengths, int64_t t, int64_t n) {
  return lengths == nullptr || t < lengths[n];
}

// c = op(a) op(b), dense, plus c if `add`. Factors that were halves lose nothing, or little, by TF32.
template <class C>
struct RnnGemm {
  bool of_halves;
  cudaStream_t stream;
  void operator()(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, const C* a, const C* b,
                  C* c, bool add) const {
    Gemm product = dense_gemm(dtype_of<C>(), m, n, k, transpose_a, transpose_b);
    product.beta = add ? 1 : 0;
    product.tf32 = of_halves || settings().cuda_dot_tf32;
    gemm(product, a, b, c, stream);
  }
};

template <class C>
void copy_numbers(const C* from, C* to, int64_t count, cudaStream_t stream) {
  if (count > 0)
    check(cudaMemcpyAsync(to, from, static_cast<size_t>(count) * sizeof(C), cudaMemcpyDeviceToDevice, stream),
          "a copy");
}

// to = from, each element times the factor of its mark.
template <class C>
struct ApplyDrops {
  const uint8_t* marks;
  C scale;
  const C* from;
  C* to;
  __device__ void operator()(int64_t i) const {
    const uint8_t mark = marks[i];
    to[i] = mark == ops::kDropped ? C{0} : mark == ops::kScaled ? from[i] * scale : from[i];
  }
};
template <class C>
void apply_drops(double p, int64_t size, const uint8_t* marks, const C* from, C* to, cudaStream_t stream) {
  launch_each(stream, size, ApplyDrops<C>{marks, static_cast<C>(p < 1 ? 1 / (1 - p) : 0), from, to});
}

}  // namespace loomix::cuda
