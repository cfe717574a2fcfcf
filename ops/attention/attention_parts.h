// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "ops/attention/attention.h"
#include "ops/kernel.h"

// Where kernels of attention find their matrices.
namespace loomix::ops {

// One part (query, key, value) of an interleaved projection: for each item of the batch and head, a matrix of a row a
// time step.
template <class T>
struct AttentionPart {
  T* data = nullptr;  // as of a KernelSpec
  int64_t length, items, width, ld, item_step;

  AttentionPart(const TensorView& view, int heads, int parts, int part)
      : length(view.shape[0]),
        items(view.shape[1] * heads),
        width(view.shape[2] / (int64_t{heads} * parts)),
        ld(view.shape[1] * view.shape[2]),
        item_step(width * parts) {
    if (view.data) data = static_cast<T*>(view.data) + part * width;
  }
  T* at(int64_t item) const { return data + item * item_step; }
};

// Attention weights: a dense matrix an item.
template <class T>
struct AttentionWeights {
  T* data;
  int64_t length, width, ld;
  explicit AttentionWeights(const TensorView& view)
      : data(static_cast<T*>(view.data)), length(view.shape[1]), width(view.shape[2]), ld(width) {}
  T* at(int64_t item) const { return data + item * length * width; }
};

template <class T>
double attention_scale(const AttentionPart<T>& queries) {
  return 1 / std::sqrt(double(queries.width));
}

// Self-attention's projection holds queries, keys and values. Otherwise there is one of queries, and one of keys and values.
template <bool self>
struct AttentionLayout {
  static constexpr size_t kKeys = self ? 0 : 1;  // the array with the keys
  static constexpr int kQueryParts = self ? 3 : 1, kParts = self ? 3 : 2, kKey = self ? 1 : 0,
                       kValue = kKey + 1;
};

}  // namespace loomix::ops
