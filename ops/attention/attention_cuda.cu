// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "base/settings.h"
#include "ops/attention/attention.h"
#include "ops/cuda/blas.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// Matrices of a batch, one for each item and head: row-major, `row` elements from row to row and `step` from one matrix to the next.
struct Operand {
  void* data;
  int64_t length, width, row, step, items;
  bool transpose = false;

  Operand transposed() const {
    Operand other = *this;
    other.transpose = true;
    return other;
  }
};

// One part (query, key, value) of an interleaved projection: a row a time step.
Operand part(const TensorView& view, int heads, int parts, int which) {
  const int64_t width = view.shape[2] / (int64_t{heads} * parts);
  return {static_cast<char*>(view.data) + which * width * size_of(view.dtype),
          view.shape[0],
          width,
          view.shape[1] * view.shape[2],
          width * parts,
          view.shape[1] * heads};
}

// Attention weights.
Operand weights(const TensorView& view) {
  return {view.data,    view.shape[1], view.shape[2], view.shape[2], view.shape[1] * view.shape[2],
          view.shape[0]};
}

// c = alpha a b for each item.
void multiply(const KernelArgs& args, double alpha, const Operand& a, const Operand& b, const Operand& c) {
  Gemm gemm;
  gemm.dtype = args.in[0].dtype;
  gemm.m = c.length;
  gemm.n = c.width;
  gemm.k = a.transpose ? a.length : a.width;
  gemm.transpose_a = a.transpose;
  gemm.transpose_b = b.transpose;
  gemm.row_a = a.row;
  gemm.row_b = b.row;
  gemm.row_c = c.row;
  gemm.batch = c.items;
  gemm.step_a = a.step;
  gemm.step_b = b.step;
  gemm.step_c = c.step;
  gemm.alpha = alpha;
  gemm.tf32 = settings().cuda_dot_tf32;
  cuda::gemm(gemm, a.data, b.data, c.data, stream_of(args));
}

double score_scale(const Operand& queries) { return 1 / std::sqrt(double(queries.width)); }

void clear(const TensorView& view, const KernelArgs& args) {
  if (view.size() > 0)
    check(cudaMemsetAsync(view.data, 0, static_cast<size_t>(view.bytes()), stream_of(args)), "clearing");
}

// Self-attention's projection holds queries, keys and values. Otherwise there is one of queries, and one of keys and values.
template <bool self>
struct Layout {
  static constexpr size_t kKeys = self ? 0 : 1;  // the array with the keys
  static constexpr int kQueryParts = self ? 3 : 1, kParts = self ? 3 : 2, kKey = self ? 1 : 0,
                       kValue = kKey + 1;
};

template <bool self>
void qk_cuda(const AttentionParams& p, const KernelArgs& args) {
  using L = Layout<self>;
  const Operand q = part(args.in[0], p.heads, L::kQueryParts, 0);
  const Operand k = part(args.in[L::kKeys], p.heads, L::kParts, L::kKey);
  multiply(args, score_scale(q), q, k.transposed(), weights(args.out[0]));
}

// The gradients: (head, inputs ...) -> gradients of the inputs.
template <bool self>
void backward_qk_cuda(const AttentionParams& p, const KernelArgs& args) {
  using L = Layout<self>;
  const auto wanted = [&](size_t output) { return args.req[output] != Req::null; };
  const auto queries = [&](const TensorView& view) { return part(view, p.heads, L::kQueryParts, 0); };
  const auto keys = [&](const TensorView& view) { return part(view, p.heads, L::kParts, L::kKey); };
  if (wanted(L::kKeys)) clear(args.out[L::kKeys], args);
  const Operand grad = weights(args.in[0]), q = queries(args.in[1]), k = keys(args.in[1 + L::kKeys]);
  if (wanted(0)) multiply(args, score_scale(q), grad, k, queries(args.out[0]));
  if (wanted(L::kKeys)) multiply(args, score_scale(q), grad.transposed(), q, keys(args.out[L::kKeys]));
}

template <bool self>
void valatt_cuda(const AttentionParams& p, const KernelArgs& args) {
  using L = Layout<self>;
  multiply(args, 1, weights(args.in[1]), part(args.in[0], p.heads, L::kParts, L::kValue),
           part(args.out[0], p.heads, 1, 0));
}

template <bool self>
void backward_valatt_cuda(const AttentionParams& p, const KernelArgs& args) {
  using L = Layout<self>;
  const Operand grad = part(args.in[0], p.heads, 1, 0), v = part(args.in[1], p.heads, L::kParts, L::kValue);
  if (args.req[0] != Req::null) {
    clear(args.out[0], args);
    multiply(args, 1, weights(args.in[2]).transposed(), grad,
             part(args.out[0], p.heads, L::kParts, L::kValue));
  }
  if (args.req[1] != Req::null) multiply(args, 1, grad, v.transposed(), weights(args.out[1]));
}

template <bool self>
void add(KernelList& list, const std::string& kind) {
  const std::string forward = "_contrib_interleaved_matmul_" + kind,
                    backward = "_backward_interleaved_matmul_" + kind;
  list.kernel<qk_cuda<self>>(forward + "_qk", "qk_cublas", DeviceType::gpu);
  list.kernel<valatt_cuda<self>>(forward + "_valatt", "valatt_cublas", DeviceType::gpu);
  list.kernel<backward_qk_cuda<self>>(backward + "_qk", "backward_qk_cublas", DeviceType::gpu);
  list.kernel<backward_valatt_cuda<self>>(backward + "_valatt", "backward_valatt_cublas", DeviceType::gpu);
}

}  // namespace

void kernels_attention_cuda(KernelList& list) {
  add<true>(list, "selfatt");
  add<false>(list, "encdec");
}

}  // namespace loomix::ops
