// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/attention/attention_parts.h"
#include "ops/linalg/blas.h"
#include "ops/linalg/matrices.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// c = alpha op(a) op(b) for each item.
template <class T, class A, class B, class C>
void multiply(const KernelArgs& args, int64_t items, double alpha, const A& a, bool transpose_a, const B& b,
              bool transpose_b, const C& c) {
  if (c.length * c.width == 0) return;
  const int64_t k = transpose_a ? a.length : a.width;
  each_matrix(args, items, 2.0 * double(c.length) * double(c.width) * double(k), [&](int64_t item) {
    Blas<T>::gemm(CblasRowMajor, transposed(transpose_a), transposed(transpose_b), blas_size(c.length),
                  blas_size(c.width), blas_size(k), static_cast<T>(alpha), a.at(item), leading(a.ld),
                  b.at(item), leading(b.ld), T{0}, c.at(item), leading(c.ld));
  });
}

void clear(const TensorView& view) {
  if (view.size() > 0) std::memset(view.data, 0, static_cast<size_t>(view.bytes()));
}

template <class Fn>
void dispatch(const KernelArgs& args, Fn&& fn) {
  dispatch_real(args.in[0].dtype, "interleaved_matmul", fn);
}

template <bool self>
void qk_cblas(const AttentionParams& p, const KernelArgs& args) {
  using L = AttentionLayout<self>;
  dispatch(args, [&]<class T>(Type<T>) {
    const AttentionPart<T> q(args.in[0], p.heads, L::kQueryParts, 0),
        k(args.in[L::kKeys], p.heads, L::kParts, L::kKey);
    multiply<T>(args, q.items, attention_scale(q), q, false, k, true, AttentionWeights<T>(args.out[0]));
  });
}

// The gradients: (head, inputs ...) -> gradients of the inputs.
template <bool self>
void backward_qk_cblas(const AttentionParams& p, const KernelArgs& args) {
  using L = AttentionLayout<self>;
  const auto wanted = [&](size_t output) { return args.req[output] != Req::null; };
  if (wanted(L::kKeys)) clear(args.out[L::kKeys]);
  dispatch(args, [&]<class T>(Type<T>) {
    const auto queries = [&](const TensorView& view) {
      return AttentionPart<T>(view, p.heads, L::kQueryParts, 0);
    };
    const auto keys = [&](const TensorView& view) {
      return AttentionPart<T>(view, p.heads, L::kParts, L::kKey);
    };
    const AttentionWeights<T> grad(args.in[0]);
    const AttentionPart<T> q = queries(args.in[1]), k = keys(args.in[1 + L::kKeys]);
    if (wanted(0))
      multiply<T>(args, q.items, attention_scale(q), grad, false, k, false, queries(args.out[0]));
    if (wanted(L::kKeys))
      multiply<T>(args, q.items, attention_scale(q), grad, true, q, false, keys(args.out[L::kKeys]));
  });
}

template <bool self>
void valatt_cblas(const AttentionParams& p, const KernelArgs& args) {
  using L = AttentionLayout<self>;
  dispatch(args, [&]<class T>(Type<T>) {
    const AttentionPart<T> v(args.in[0], p.heads, L::kParts, L::kValue);
    multiply<T>(args, v.items, 1, AttentionWeights<T>(args.in[1]), false, v, false,
                AttentionPart<T>(args.out[0], p.heads, 1, 0));
  });
}

template <bool self>
void backward_valatt_cblas(const AttentionParams& p, const KernelArgs& args) {
  using L = AttentionLayout<self>;
  dispatch(args, [&]<class T>(Type<T>) {
    const AttentionPart<T> grad(args.in[0], p.heads, 1, 0), v(args.in[1], p.heads, L::kParts, L::kValue);
    if (args.req[0] != Req::null) {
      clear(args.out[0]);
      multiply<T>(args, v.items, 1, AttentionWeights<T>(args.in[2]), true, grad, false,
                  AttentionPart<T>(args.out[0], p.heads, L::kParts, L::kValue));
    }
    if (args.req[1] != Req::null)
      multiply<T>(args, v.items, 1, grad, false, v, true, AttentionWeights<T>(args.out[1]));
  });
}

template <bool self>
void add(OpTable& table, const std::string& kind) {
  table.kernel<qk_cblas<self>>("_contrib_interleaved_matmul_" + kind + "_qk", "qk_cblas");
  table.kernel<valatt_cblas<self>>("_contrib_interleaved_matmul_" + kind + "_valatt", "valatt_cblas");
}

template <bool self>
void add_gradients(OpTable& table, const std::string& kind) {
  table.kernel<backward_qk_cblas<self>>("_backward_interleaved_matmul_" + kind + "_qk", "backward_qk_cblas");
  table.kernel<backward_valatt_cblas<self>>("_backward_interleaved_matmul_" + kind + "_valatt",
                                            "backward_valatt_cblas");
}

}  // namespace

void kernels_attention(OpTable& table) {
  add<true>(table, "selfatt");
  add<false>(table, "encdec");
}

void gradients_attention(OpTable& table) {
  add_gradients<true>(table, "selfatt");
  add_gradients<false>(table, "encdec");
}

}  // namespace loomix::ops
