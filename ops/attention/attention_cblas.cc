// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "ops/attention/attention.h"
#include "ops/linalg/blas.h"
#include "ops/linalg/matrices.h"

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
  dispatch_matrix(args.in[0].dtype, "interleaved_matmul", fn);
}

}  // namespace

void selfatt_qk_cblas(const AttentionParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch(args, [&]<class T>(Type<T>) {
    const Part<T> q(args.in[0], p.heads, 3, 0), k(args.in[0], p.heads, 3, 1);
    multiply<T>(args, q.items, score_scale(q), q, false, k, true, Weights<T>(args.out[0]));
  });
}

void backward_selfatt_qk_cblas(const AttentionParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  clear(args.out[0]);
  dispatch(args, [&]<class T>(Type<T>) {
    const Weights<T> grad(args.in[0]);
    const Part<T> q(args.in[1], p.heads, 3, 0), k(args.in[1], p.heads, 3, 1);
    multiply<T>(args, q.items, score_scale(q), grad, false, k, false, Part<T>(args.out[0], p.heads, 3, 0));
    multiply<T>(args, q.items, score_scale(q), grad, true, q, false, Part<T>(args.out[0], p.heads, 3, 1));
  });
}

void selfatt_valatt_cblas(const AttentionParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch(args, [&]<class T>(Type<T>) {
    const Part<T> v(args.in[0], p.heads, 3, 2);
    multiply<T>(args, v.items, 1, Weights<T>(args.in[1]), false, v, false,
                Part<T>(args.out[0], p.heads, 1, 0));
  });
}

void backward_selfatt_valatt_cblas(const AttentionParams& p, const KernelArgs& args) {
  dispatch(args, [&]<class T>(Type<T>) {
    const Part<T> grad(args.in[0], p.heads, 1, 0), v(args.in[1], p.heads, 3, 2);
    if (args.req[0] != Req::null) {
      clear(args.out[0]);
      multiply<T>(args, v.items, 1, Weights<T>(args.in[2]), true, grad, false,
                  Part<T>(args.out[0], p.heads, 3, 2));
    }
    if (args.req[1] != Req::null)
      multiply<T>(args, v.items, 1, grad, false, v, true, Weights<T>(args.out[1]));
  });
}

void encdec_qk_cblas(const AttentionParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch(args, [&]<class T>(Type<T>) {
    const Part<T> q(args.in[0], p.heads, 1, 0), k(args.in[1], p.heads, 2, 0);
    multiply<T>(args, q.items, score_scale(q), q, false, k, true, Weights<T>(args.out[0]));
  });
}

void backward_encdec_qk_cblas(const AttentionParams& p, const KernelArgs& args) {
  dispatch(args, [&]<class T>(Type<T>) {
    const Weights<T> grad(args.in[0]);
    const Part<T> q(args.in[1], p.heads, 1, 0), k(args.in[2], p.heads, 2, 0);
    if (args.req[0] != Req::null) {
      multiply<T>(args, q.items, score_scale(q), grad, false, k, false, Part<T>(args.out[0], p.heads, 1, 0));
    }
    if (args.req[1] != Req::null) {
      clear(args.out[1]);
      multiply<T>(args, q.items, score_scale(q), grad, true, q, false, Part<T>(args.out[1], p.heads, 2, 0));
    }
  });
}

void encdec_valatt_cblas(const AttentionParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch(args, [&]<class T>(Type<T>) {
    const Part<T> v(args.in[0], p.heads, 2, 1);
    multiply<T>(args, v.items, 1, Weights<T>(args.in[1]), false, v, false,
                Part<T>(args.out[0], p.heads, 1, 0));
  });
}

void backward_encdec_valatt_cblas(const AttentionParams& p, const KernelArgs& args) {
  dispatch(args, [&]<class T>(Type<T>) {
    const Part<T> grad(args.in[0], p.heads, 1, 0), v(args.in[1], p.heads, 2, 1);
    if (args.req[0] != Req::null) {
      clear(args.out[0]);
      multiply<T>(args, v.items, 1, Weights<T>(args.in[2]), true, grad, false,
                  Part<T>(args.out[0], p.heads, 2, 1));
    }
    if (args.req[1] != Req::null)
      multiply<T>(args, v.items, 1, grad, false, v, true, Weights<T>(args.out[1]));
  });
}

}  // namespace loomix::ops
