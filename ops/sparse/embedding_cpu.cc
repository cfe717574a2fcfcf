// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/index/index.h"
#include "ops/sparse/look_ups.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

// Rows of a row_sparse weight, and the gradient of a weight of which only the rows that were looked up are stored.
namespace loomix::ops {
namespace {

constexpr int64_t kGrainElements = 16384;

void embedding_rows(const EmbeddingParams& p, const KernelArgs& args) {
  const std::vector<int64_t> ids = clipped_ids(args.in[0], p.input_dim);
  const TensorView& out = args.out[0];
  const Storage& weight = input_storage(args, 1);
  const auto bytes = static_cast<size_t>(p.output_dim * size_of(out.dtype));
  const RowSet rows(stored_ids(weight), p.input_dim);
  auto* to = static_cast<std::byte*>(out.data);
  for (const int64_t id : ids) {
    const int64_t place = rows.find(id);
    if (place < 0) std::memset(to, 0, bytes);
    else
      std::memcpy(to, static_cast<const std::byte*>(weight.data()) + static_cast<size_t>(place) * bytes,
                  bytes);
    to += bytes;
  }
}

Support embeds_rows(const EmbeddingParams&, const KernelSpec& spec) {
  if (spec.in_stype(0) != StorageType::dense || spec.in_stype(1) != StorageType::row_sparse ||
      spec.out_stype(0) != StorageType::dense)
    return Support::no("it takes dense data and a row_sparse weight, and gives a dense output");
  return Support::yes();
}

// (gradient, data): one row for each id that occurs, added up in the order of the ids.
void embedding_gradient(const EmbeddingParams& p, const KernelArgs& args) {
  const LookUps look_ups(clipped_ids(args.in[1], p.input_dim), p.input_dim);
  const RowSet& rows = look_ups.rows;
  const std::vector<int64_t>&starts = look_ups.starts, &order = look_ups.order;
  const TensorView& out = args.out[0];
  Storage& to = output_storage(args, 0);
  const int64_t size = p.output_dim;
  to.resize_sparse(rows.count(), size * size_of(out.dtype), 0);
  rows.write(to.indices());
  dispatch_numeric(out.dtype, "_backward_SparseEmbedding", [&]<class T>(Type<T>) {
    const T* const grad = args.in[0].as<T>();
    T* const sums = static_cast<T*>(to.data());
    const int64_t grain = kGrainElements / size;
    engine::parallel_for(*args.context, rows.count(), grain, [&](int64_t begin, int64_t end) {
      std::vector<Accum<T>> sum(static_cast<size_t>(size));
      for (int64_t row = begin; row < end; ++row) {
        std::fill(sum.begin(), sum.end(), Accum<T>(0));
        for (int64_t k = starts[static_cast<size_t>(row)]; k < starts[static_cast<size_t>(row) + 1]; ++k) {
          const T* const from = grad + order[static_cast<size_t>(k)] * size;
          for (int64_t i = 0; i < size; ++i) sum[static_cast<size_t>(i)] += static_cast<Accum<T>>(from[i]);
        }
        for (int64_t i = 0; i < size; ++i) sums[row * size + i] = static_cast<T>(sum[static_cast<size_t>(i)]);
      }
    });
  });
}

template <int input>
size_t index_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[input].size()) * sizeof(int64_t);
}

}  // namespace

void kernels_sparse_embedding(OpTable& table) {
  add_sparse<embedding_rows, embeds_rows>(table, "Embedding", "embedding_rows_cpu");
  table.kernel<embedding_cpu, index_scratch<0>>("_contrib_SparseEmbedding", "embedding_cpu");
  add_sparse<embedding_rows, embeds_rows>(table, "_contrib_SparseEmbedding", "embedding_rows_cpu");
}

void gradients_sparse_embedding(OpTable& table) {
  add_sparse<embedding_gradient, gives_rows>(table, "_backward_SparseEmbedding", "embedding_gradient_cpu");
  table.kernel<backward_embedding_cpu, index_scratch<1>>("_backward_SparseEmbedding",
                                                         "backward_embedding_cpu");
}

}  // namespace loomix::ops
