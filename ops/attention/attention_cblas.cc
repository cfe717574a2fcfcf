// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "ops/attention/attention.h"
#include "ops/linalg/blas.h"
#include "ops/linalg/matrices.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// One part (query, key, value) of an interleaved projection: for each item of the batch and head, a matrix of a row a
// time step.
template <class T>
struct Part {
  T* data;
  int64_t length, items, width, ld, item_step;

  Part(const TensorView& view, int heads, int parts, int part)
      : length(view.shape[0]),
        items(view.shape[1] * heads),
        width(view.shape[2] / (int64_t{heads} * parts)),
        ld(view.shape[1] * view.shape[2]),
        item_step(width * parts) {
    data = static_cast<T*>(view.data) + part * width;
  }
  T* at(int64_t item) const { return data + item * item_step; }
};

// Attention weights: a dense matrix an item.
template <class T>
struct Weights {
  T* data;
  int64_t length, width, ld;
  explicit Weights(const TensorView& view)
      : data(static_cast<T*>(view.data)), length(view.shape[1]), width(view.shape[2]), ld(width) {}
  T* at(int64_t item) const { return data + item * length * width; }
};

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

template <class T>
double score_scale(const Part<T>& queries) {
  return 1 / std::sqrt(double(queries.width));
}

void clear(const TensorView& view) {
  if (view.size() > 0) std::memset(view.data, 0, static_cast<size_t>(view.bytes()));
}

template <class Fn>
void dispatch(const KernelArgs& args, Fn&& fn) {
  dispatch_real(args.in[0].dtype, "interleaved_matmul", fn);
}

// Self-attention's projection holds queries, keys and values. Otherwise there is one of queries, and one of keys and values.
template <bool self>
struct Layout {
  static constexpr size_t kKeys = self ? 0 : 1;  // the array with the keys
  static constexpr int kQueryParts = self ? 3 : 1, kParts = self ? 3 : 2, kKey = self ? 1 : 0,
                       kValue = kKey + 1;
};

template <bool self>
void qk_cblas(const AttentionParams& p, const KernelArgs& args) {
  using L = Layout<self>;
  dispatch(args, [&]<class T>(Type<T>) {
    const Part<T> q(args.in[0], p.heads, L::kQueryParts, 0),
        k(args.in[L::kKeys], p.heads, L::kParts, L::kKey);
    multiply<T>(args, q.items, score_scale(q), q, false, k, true, Weights<T>(args.out[0]));
  });
}

// The gradients: (head, inputs ...) -> gradients of the inputs.
template <bool self>
void backward_qk_cblas(const AttentionParams& p, const KernelArgs& args) {
  using L = Layout<self>;
  const auto wanted = [&](size_t output) { return args.req[output] != Req::null; };
  if (wanted(L::kKeys)) clear(args.out[L::kKeys]);
  dispatch(args, [&]<class T>(Type<T>) {
    const auto queries = [&](const TensorView& view) { return Part<T>(view, p.heads, L::kQueryParts, 0); };
    const auto keys = [&](const TensorView& view) { return Part<T>(view, p.heads, L::kParts, L::kKey); };
    const Weights<T> grad(args.in[0]);
    const Part<T> q = queries(args.in[1]), k = keys(args.in[1 + L::kKeys]);
    if (wanted(0)) multiply<T>(args, q.items, score_scale(q), grad, false, k, false, queries(args.out[0]));
    if (wanted(L::kKeys))
      multiply<T>(args, q.items, score_scale(q), grad, true, q, false, keys(args.out[L::kKeys]));
  });
}

template <bool self>
void valatt_cblas(const AttentionParams& p, const KernelArgs& args) {
  using L = Layout<self>;
  dispatch(args, [&]<class T>(Type<T>) {
    const Part<T> v(args.in[0], p.heads, L::kParts, L::kValue);
    multiply<T>(args, v.items, 1, Weights<T>(args.in[1]), false, v, false,
                Part<T>(args.out[0], p.heads, 1, 0));
  });
}

template <bool self>
void backward_valatt_cblas(const AttentionParams& p, const KernelArgs& args) {
  using L = Layout<self>;
  dispatch(args, [&]<class T>(Type<T>) {
    const Part<T> grad(args.in[0], p.heads, 1, 0), v(args.in[1], p.heads, L::kParts, L::kValue);
    if (args.req[0] != Req::null) {
      clear(args.out[0]);
      multiply<T>(args, v.items, 1, Weights<T>(args.in[2]), true, grad, false,
                  Part<T>(args.out[0], p.heads, L::kParts, L::kValue));
    }
    if (args.req[1] != Req::null)
      multiply<T>(args, v.items, 1, grad, false, v, true, Weights<T>(args.out[1]));
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
