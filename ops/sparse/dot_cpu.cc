// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <type_traits>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/linear/dot.h"
#include "ops/sparse/columns.h"
#include "ops/sparse/dot.h"
#include "ops/sparse/loops.h"
#include "ops/sparse/row_set.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

// Products of a csr matrix, or its transpose, with a dense or row_sparse array, and of a dense matrix with a csr one.
//
//   csr . x      each row of the result adds up the rows of x that the row's columns name
//   csr^T . x    the stored values are sorted by column first; columns without values have no row in a row_sparse result
//   x . csr      the same by columns: each row of x is on its own
//
// A row is added up in the order of the csr matrix, whatever the number of cores.
namespace loomix::ops {
namespace {

constexpr auto dense = StorageType::dense;
constexpr auto csr = StorageType::csr;
constexpr int64_t kGrainFlops = 32768;

int64_t grain(int64_t rows, int64_t flops) {
  return std::max<int64_t>(1, kGrainFlops * rows / std::max<int64_t>(flops, 1));
}

// Rows of the second factor: all of them, or those that are stored.
template <class T>
class Source {
 public:
  Source(const TensorView& view, const Storage& storage, int64_t look_ups)
      : size_(row_size(view.shape)), data_(static_cast<const T*>(view.data)) {
    if (storage.stype() == dense) return;
    data_ = static_cast<const T*>(storage.data());
    const std::span<const int64_t> ids = stored_ids(storage);
    if (storage.count() == view.shape[0]) return;  // every row is there, in order
    if (look_ups > storage.count()) rows_.emplace_back(ids, view.shape[0]);
    ids_ = ids;
    some_ = true;
  }
  // Null for a row that is not stored.
  const T* row(int64_t id) const {
    if (!some_) return data_ + id * size_;
    int64_t place = -1;
    if (!rows_.empty()) {
      place = rows_[0].find(id);
    } else {
      const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
      if (at != ids_.end() && *at == id) place = at - ids_.begin();
    }
    return place < 0 ? nullptr : data_ + place * size_;
  }
  int64_t size() const { return size_; }

 private:
  int64_t size_;
  const T* data_;
  bool some_ = false;
  std::span<const int64_t> ids_;
  std::vector<RowSet> rows_;  // none, or one
};

// Rows of the second factor with their weights: what adds up to a row of the result.
template <class T>
class RowSum {
 public:
  explicit RowSum(int64_t size) : size_(size) {}

  void add(T weight, const T* row) {
    if (!row) return;
    weights_.push_back(weight);
    rows_.push_back(row);
  }
  // Puts the sum where it belongs, or adds it there, and begins anew.
  void end(T* to, bool add) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      if (add) sum_.resize(static_cast<size_t>(size_));
      T* const sum = add ? sum_.data() : to;
      loop()(weights_.data(), rows_.data(), static_cast<int64_t>(rows_.size()), sum, size_);
      if (add) std::transform(to, to + size_, sum, to, std::plus<>());
    } else {
      sum_.assign(static_cast<size_t>(size_), 0);
      for (size_t k = 0; k < rows_.size(); ++k) {
        for (size_t i = 0; i < sum_.size(); ++i)
          sum_[i] += static_cast<Accum<T>>(weights_[k]) * static_cast<Accum<T>>(rows_[k][i]);
      }
      for (size_t i = 0; i < sum_.size(); ++i)
        to[i] = static_cast<T>(add ? static_cast<Accum<T>>(to[i]) + sum_[i] : sum_[i]);
    }
    weights_.clear();
    rows_.clear();
  }

 private:
  static WeightedRows<T> loop() {
    if constexpr (std::is_same_v<T, float>) return best_loops<SparseLoops>().weighted_f32;
    else return best_loops<SparseLoops>().weighted_f64;
  }
  const int64_t size_;
  std::vector<T> weights_;
  std::vector<const T*> rows_;
  std::vector<Accum<T>> sum_;
};

// y = m . x
template <class T>
void multiply(const CsrView<T>& m, const Source<T>& x, T* y, bool add, engine::RunContext& context) {
  const int64_t size = x.size();
  engine::parallel_for(context, m.rows, grain(m.rows, m.count() * size), [&](int64_t begin, int64_t end) {
    RowSum<T> sum(size);
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t k = m.starts[row]; k < m.starts[row + 1]; ++k) sum.add(m.values[k], x.row(m.columns[k]));
      sum.end(y + row * size, add);
    }
  });
}

// Rows of m^T . x; `y_row(i)` is the place of the row of the i-th column that counts.
template <class T, class Row>
void multiply_columns(const Columns<T>& columns, const Source<T>& x, bool add, engine::RunContext& context,
                      Row&& y_row) {
  const auto count = static_cast<int64_t>(columns.starts.size()) - 1;
  const int64_t size = x.size();
  const int64_t flops = static_cast<int64_t>(columns.rows.size()) * size;
  engine::parallel_for(context, count, grain(count, flops), [&](int64_t begin, int64_t end) {
    RowSum<T> sum(size);
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      for (auto k = static_cast<size_t>(columns.starts[at]); k < static_cast<size_t>(columns.starts[at + 1]);
           ++k)
        sum.add(columns.values[k], x.row(columns.rows[k]));
      sum.end(y_row(i), add);
    }
  });
}

// y = op(m) . x for the operands at places `m` and `x` of the inputs.
template <class T>
void product(const KernelArgs& args, size_t m, size_t x, bool transpose) {
  const TensorView& out = args.out[0];
  const Storage& stored = input_storage(args, m);
  Storage& to = output_storage(args, 0);
  const CsrView<T> matrix = csr_of<T>(stored, args.in[m].shape);
  const Source<T> source(args.in[x], input_storage(args, x), matrix.count());
  const int64_t size = source.size();
  const bool add = args.req[0] == Req::add;
  if (!transpose) return multiply(matrix, source, static_cast<T*>(out.data), add, *args.context);
  if (to.stype() == dense) {
    auto* const y = static_cast<T*>(out.data);
    const Columns<T> columns(matrix, matrix.width, [](int64_t column) { return column; });
    return multiply_columns(columns, source, add, *args.context, [=](int64_t i) { return y + i * size; });
  }
  const RowSet touched(stored_ids(stored), matrix.width);
  to.resize_sparse(touched.count(), size * size_of(out.dtype), 0);
  touched.write(to.indices());
  auto* const y = static_cast<T*>(to.data());
  const Columns<T> columns(matrix, touched.count(), [&](int64_t column) { return touched.place(column); });
  multiply_columns(columns, source, false, *args.context, [=](int64_t i) { return y + i * size; });
}

void csr_dot(const DotParams& p, const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "dot",
                    [&]<class T>(Type<T>) { product<T>(args, 0, 1, p.transpose_a); });
}

// The gradient of the second factor: (gradient, lhs, rhs for its shape).
void csr_dot_back(const DotParams& p, const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "_backward_dot_rhs",
                    [&]<class T>(Type<T>) { product<T>(args, 1, 0, !p.transpose_a); });
}

// y = x . op(m)
template <class T>
void dense_product(const KernelArgs& args, bool transpose) {
  const TensorView& x = args.in[0];
  const TensorView& out = args.out[0];
  const Storage& stored = input_storage(args, 1);
  const CsrView<T> m = csr_of<T>(stored, args.in[1].shape);
  Storage& to = output_storage(args, 0);
  const int64_t rows = x.shape[0], inner = x.shape[1], width = out.shape[1];
  std::vector<int64_t> ids;  // columns of a csr result
  T* y = static_cast<T*>(out.data);
  if (to.stype() == csr) {
    ids = index_product(to, out, stored, transpose);
    y = static_cast<T*>(to.data());
  }
  const auto kept = static_cast<int64_t>(ids.size());
  const T* const data = static_cast<const T*>(x.data);
  engine::parallel_for(*args.context, rows, grain(rows, rows * m.count()), [&](int64_t begin, int64_t end) {
    std::vector<Accum<T>> sums(static_cast<size_t>(width));
    for (int64_t i = begin; i < end; ++i) {
      std::fill(sums.begin(), sums.end(), Accum<T>(0));
      const T* const from = data + i * inner;
      for (int64_t row = 0; row < m.rows; ++row) {
        for (int64_t k = m.starts[row]; k < m.starts[row + 1]; ++k) {
          const int64_t source = transpose ? m.columns[k] : row, target = transpose ? row : m.columns[k];
          sums[static_cast<size_t>(target)] +=
              static_cast<Accum<T>>(from[source]) * static_cast<Accum<T>>(m.values[k]);
        }
      }
      const bool add = args.req[0] == Req::add;
      for (int64_t k = 0; k < (to.stype() == dense ? width : kept); ++k) {
        T& target = y[i * (to.stype() == dense ? width : kept) + k];
        const Accum<T> value =
            sums[static_cast<size_t>(to.stype() == dense ? k : ids[static_cast<size_t>(k)])];
        target = static_cast<T>(add ? static_cast<Accum<T>>(target) + value : value);
      }
    }
  });
}

void dot_csr(const DotParams& p, const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "dot",
                    [&]<class T>(Type<T>) { dense_product<T>(args, p.transpose_b); });
}

// The gradient of the first factor: (gradient, rhs, lhs for its shape).
void dot_csr_back(const DotParams& p, const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "_backward_dot_lhs",
                    [&]<class T>(Type<T>) { dense_product<T>(args, !p.transpose_b); });
}

}  // namespace

std::vector<int64_t> index_product(Storage& to, const TensorView& out, const Storage& matrix,
                                   bool transpose) {
  const int64_t rows = out.shape[0], width = out.shape[1];
  std::vector<int64_t> ids;
  if (transpose) {
    for (int64_t row = 0; row < width; ++row)
      if (matrix.indptr()[row] < matrix.indptr()[row + 1]) ids.push_back(row);
  } else {
    const RowSet set(stored_ids(matrix), width);
    ids.resize(static_cast<size_t>(set.count()));
    set.write(ids.data());
  }
  const auto kept = static_cast<int64_t>(ids.size());
  to.resize_sparse(rows * kept, size_of(out.dtype), rows + 1);
  for (int64_t row = 0; row <= rows; ++row) to.indptr()[row] = row * kept;
  for (int64_t row = 0; row < rows; ++row) std::copy(ids.begin(), ids.end(), to.indices() + row * kept);
  return ids;
}

void kernels_sparse_dot(OpTable& table) {
  add_sparse<csr_dot, csr_dots>(table, "dot", "csr_dot_cpu");
  add_sparse<dot_csr, dots_csr>(table, "dot", "dot_csr_cpu");
}

void gradients_sparse_dot(OpTable& table) {
  add_sparse<csr_dot_back, csr_dots_back>(table, "_backward_dot_rhs", "csr_dot_back_cpu");
  add_sparse<dot_csr_back, dots_csr_back>(table, "_backward_dot_lhs", "dot_csr_back_cpu");
}

}  // namespace loomix::ops
