// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/index/index.h"
#include "ops/sparse/row_set.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

// Rows of a row_sparse weight, and the gradient of a weight of which only the rows that were looked up are stored.
namespace loomix::ops {
namespace {

constexpr int64_t kGrainElements = 16384;

std::vector<int64_t> clipped_ids(const TensorView& data, int64_t limit) {
  std::vector<int64_t> ids = integers_of(data);
  for (int64_t& id : ids) id = std::clamp<int64_t>(id, 0, limit - 1);
  return ids;
}

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
  const std::vector<int64_t> ids = clipped_ids(args.in[1], p.input_dim);
  const RowSet rows(ids, p.input_dim);
  const TensorView& out = args.out[0];
  Storage& to = output_storage(args, 0);
  const int64_t size = p.output_dim;
  to.resize_sparse(rows.count(), size * size_of(out.dtype), 0);
  rows.write(to.indices());
  std::vector<int64_t> starts(static_cast<size_t>(rows.count()) + 1), places, order(ids.size());
  places.reserve(ids.size());
  for (const int64_t id : ids) ++starts[static_cast<size_t>(places.emplace_back(rows.place(id))) + 1];
  for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  std::vector<int64_t> next(starts.begin(), starts.end() - 1);
  for (size_t i = 0; i < ids.size(); ++i)
    order[static_cast<size_t>(next[static_cast<size_t>(places[i])]++)] = static_cast<int64_t>(i);
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

Support gives_rows(const EmbeddingParams&, const KernelSpec& spec) {
  if (spec.in_stype(0) != StorageType::dense || spec.in_stype(1) != StorageType::dense)
    return Support::no("it takes a dense gradient and dense data");
  if (spec.out_stype(0) != StorageType::row_sparse) return Support::no("its output is row_sparse");
  if (spec.req[0] == Req::add) return Support::no("it cannot add to a row_sparse output");
  return Support::yes();
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
