// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/cuda/index.h"
#include "ops/cuda/reduce.h"
#include "ops/reduce/reduce.h"

// Folds of elements over any axes. Two kernels: where the innermost axis is reduced, the lanes of a warp or the threads of a block
// share the elements of an output; where it is kept, neighbouring threads have neighbouring outputs, and several rows of threads
// share the elements. Few outputs of many elements are folded in pieces, whose results a third kernel merges. The order
// depends on shapes alone.
//
// A `Fold` has a type `Acc` of words of 4 bytes, and as device functions
//   Acc init() const; Acc add(Acc, int64_t at, int64_t output) const; Acc merge(Acc, Acc) const
// where `at` is the element's place in the array; a `Put` is put(int64_t output, Acc). A Fold that reads packs of neighbours has
//   static constexpr int kPack; Acc add_pack(Acc, int64_t at, int64_t output) const
// which is called whether its arrays are aligned or not, so that the order of additions does not depend on addresses.
namespace loomix::cuda {

inline constexpr int kFoldBlock = 256;

// What the kernels get.
struct FoldGeometry {
  Places<1> kept{}, reduced{};
  int64_t outputs = 1, items = 1;
  int64_t items_a_piece = 1;
  int64_t run = 1;  // items of an output that follow each other in memory
};

class FoldPlan {
 public:
  FoldPlan(const Shape& shape, const ops::AxisSet& axes);

  // Whether the geometry fits into the parameters of a kernel.
  bool fits() const { return kept_.ndim <= kMaxAxes && reduced_.ndim <= kMaxAxes; }
  // Bytes of scratch for accumulators of `acc` bytes.
  size_t scratch_bytes(size_t acc) const {
    return pieces_ > 1 ? static_cast<size_t>(pieces_ * outputs_) * acc : 0;
  }
  int64_t outputs() const { return outputs_; }
  int64_t items() const { return items_; }  // an output
  int64_t pieces() const { return pieces_; }
  bool by_rows() const { return by_rows_; }
  const Grid& grid() const { return grid_; }
  FoldGeometry geometry() const;

 private:
  struct Walk {  // axes of one kind, outermost first, neighbours merged
    int ndim = 0;
    int64_t size[Shape::kMaxDims];
    int64_t stride[Shape::kMaxDims];
  };
  static Places<1> places_of(const Walk& walk);
  void choose_grid(int64_t inner);

  Walk kept_, reduced_;
  int64_t outputs_ = 1, items_ = 1, pieces_ = 1, run_ = 1;
  bool by_rows_ = true;  // the innermost axis is reduced
  Grid grid_;
};

// All axes but one.
inline ops::AxisSet axes_but(int kept, int ndim) {
  ops::AxisSet axes;
  for (int axis = 0; axis < ndim; ++axis) axes.set(static_cast<size_t>(axis), axis != kept);
  return axes;
}

template <class Fold>
struct MergeOf {
  Fold fold;
  __device__ typename Fold::Acc operator()(typename Fold::Acc a, typename Fold::Acc b) const {
    return fold.merge(a, b);
  }
};

// Calls add(acc, i) for this thread's items `first`, first + step, ... below end. Four at once, so that their loads overlap.
template <class Fold, class Add>
__device__ typename Fold::Acc fold_four(const Fold& fold, int64_t first, int64_t end, int64_t step, Add add) {
  constexpr int kAtOnce = 4;
  typename Fold::Acc acc[kAtOnce];
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k) acc[k] = fold.init();
  int64_t i = first;
#pragma unroll 1
  for (; i + (kAtOnce - 1) * step < end; i += kAtOnce * step) {
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) acc[k] = add(acc[k], i + k * step);
  }
#pragma unroll 1
  for (; i < end; i += step) acc[0] = add(acc[0], i);
  return fold.merge(fold.merge(acc[0], acc[1]), fold.merge(acc[2], acc[3]));
}

// The elements of this piece from `thread` on, `step` apart, or packs of them.
template <class Fold>
__device__ typename Fold::Acc fold_items(const FoldGeometry& g, const Fold& fold, int64_t output, int thread,
                                         int step) {
  using Acc = typename Fold::Acc;
  int64_t base[1];
  g.kept.of(output, base);
  const int64_t begin = blockIdx.y * g.items_a_piece;
  const int64_t end = min(g.items, begin + g.items_a_piece);
  const bool is_plain = g.reduced.ndim == 1;
  const int64_t first = base[0], stride = g.reduced.stride[0][0];
  const auto place = [&](int64_t i) {
    int64_t at[1];
    g.reduced.of(i, at);
    return first + at[0];
  };
  if constexpr (requires { Fold::kPack; }) {
    constexpr int kPack = Fold::kPack;
    if (g.run % kPack == 0) {
      const auto add = [&](Acc acc, int64_t i) {
        return fold.add_pack(acc, is_plain ? first + i : place(i), output);
      };
      return fold_four(fold, begin + thread * kPack, end, static_cast<int64_t>(step) * kPack, add);
    }
  }
  if (is_plain) {
    return fold_four(fold, begin + thread, end, step,
                     [&](Acc acc, int64_t i) { return fold.add(acc, first + i * stride, output); });
  }
  return fold_four(fold, begin + thread, end, step,
                   [&](Acc acc, int64_t i) { return fold.add(acc, place(i), output); });
}

// `parts` holds accumulators of [piece][output]; null: results go to `put`.
template <class Fold, class Put>
__global__ void fold_rows(FoldGeometry g, Fold fold, typename Fold::Acc* parts, Put put) {
  const int lanes = static_cast<int>(blockDim.x);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  for (int64_t output = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; output < g.outputs;
       output += step) {
    auto acc = fold_items(g, fold, output, static_cast<int>(threadIdx.x), lanes);
    if (lanes == kWarp) acc = merge_warp(acc, MergeOf<Fold>{fold});
    else acc = merge_block(acc, fold.init(), MergeOf<Fold>{fold});
    if (threadIdx.x != 0) continue;
    if (parts != nullptr) parts[blockIdx.y * g.outputs + output] = acc;
    else put(output, acc);
  }
}

template <class Fold, class Put>
__global__ void fold_columns(FoldGeometry g, Fold fold, typename Fold::Acc* parts, Put put) {
  __shared__ typename Fold::Acc of_rows[kFoldBlock];
  const int lanes = static_cast<int>(blockDim.x), rows = static_cast<int>(blockDim.y);
  const int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
  const int64_t step = static_cast<int64_t>(gridDim.x) * lanes;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * lanes; first < g.outputs; first += step) {
    const int64_t output = first + lane;
    if (output < g.outputs) of_rows[row * lanes + lane] = fold_items(g, fold, output, row, rows);
    __syncthreads();
    if (row == 0 && output < g.outputs) {
      auto acc = of_rows[lane];
      for (int k = 1; k < rows; ++k) acc = fold.merge(acc, of_rows[k * lanes + lane]);
      if (parts != nullptr) parts[blockIdx.y * g.outputs + output] = acc;
      else put(output, acc);
    }
    __syncthreads();
  }
}

// A warp an output.
template <class Fold, class Put>
__global__ void merge_pieces(int64_t outputs, int64_t pieces, Fold fold, const typename Fold::Acc* parts,
                             Put put) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  for (int64_t output = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; output < outputs;
       output += step) {
    auto acc = fold.init();
    for (int64_t piece = threadIdx.x; piece < pieces; piece += kWarp)
      acc = fold.merge(acc, parts[piece * outputs + output]);
    acc = merge_warp(acc, MergeOf<Fold>{fold});
    if (threadIdx.x == 0) put(output, acc);
  }
}

template <class Fold, class Put>
void run_fold(const FoldPlan& plan, Fold fold, Put put, std::span<std::byte> scratch, cudaStream_t stream) {
  using Acc = typename Fold::Acc;
  if (plan.outputs() == 0) return;
  LOOMIX_INTERNAL_CHECK(scratch.size() >= plan.scratch_bytes(sizeof(Acc)));
  Acc* const parts = plan.pieces() > 1 ? reinterpret_cast<Acc*>(scratch.data()) : nullptr;
  launch(plan.by_rows() ? fold_rows<Fold, Put> : fold_columns<Fold, Put>, plan.grid(), stream,
         plan.geometry(), fold, parts, put);
  if (parts == nullptr) return;
  constexpr int kRows = kFoldBlock / kWarp;
  const Grid grid{static_cast<unsigned>(ceil_divide(plan.outputs(), kRows)), dim3(kWarp, kRows)};
  launch(merge_pieces<Fold, Put>, grid, stream, plan.outputs(), plan.pieces(), fold, parts, put);
}

}  // namespace loomix::cuda
