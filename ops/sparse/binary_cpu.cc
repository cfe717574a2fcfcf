// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/elemwise/binary.h"
#include "ops/elemwise/elemwise.h"
#include "ops/limits.h"
#include "ops/sparse/row_set.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

// Sums and products of arrays of which one is sparse at least. Sums store what one of them stores, products what both do.
namespace loomix::ops {
namespace {

constexpr auto dense = StorageType::dense;
constexpr auto row_sparse = StorageType::row_sparse;
constexpr auto csr = StorageType::csr;

constexpr uint64_t kZero = 0;  // of any type

// Stored elements of one operand, as bytes.
struct Rows {
  std::span<const int64_t> ids;
  const std::byte* data;
};

Rows rows_in(const KernelArgs& args, size_t i) {
  const RowsView<const std::byte> view = rows_of<const std::byte>(input_storage(args, i), args.in[i].shape);
  return {view.ids, view.data};
}

// Calls fn(id, place in a or -1, place in b or -1) for the ids of both lists in order; `joint`: only those in both.
template <class Fn>
void merge(std::span<const int64_t> a, std::span<const int64_t> b, bool joint, Fn&& fn) {
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i] < b[j])) {
      if (!joint) fn(a[i], static_cast<int64_t>(i), int64_t{-1});
      ++i;
    } else if (i == a.size() || b[j] < a[i]) {
      if (!joint) fn(b[j], int64_t{-1}, static_cast<int64_t>(j));
      ++j;
    } else {
      fn(a[i], static_cast<int64_t>(i), static_cast<int64_t>(j));
      ++i, ++j;
    }
  }
}

// y = op(a, b) for one row; an operand that is null is zero.
void combine(Binary op, DType dtype, const void* a, const void* b, void* y, int64_t size) {
  const Spread spread = !a ? Spread::left : !b ? Spread::right : Spread::none;
  binary_row(op, dtype, spread, a ? a : &kZero, b ? b : &kZero, y, size);
}

void rows_with_rows(Binary op, bool joint, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const Rows a = rows_in(args, 0), b = rows_in(args, 1);
  int64_t count = 0;
  merge(a.ids, b.ids, joint, [&](int64_t, int64_t, int64_t) { ++count; });
  const int64_t size = row_size(out.shape), bytes = size * size_of(out.dtype);
  Storage& to = output_storage(args, 0);
  to.resize_sparse(count, bytes, 0);
  int64_t row = 0;
  merge(a.ids, b.ids, joint, [&](int64_t id, int64_t i, int64_t j) {
    to.indices()[row] = id;
    combine(op, out.dtype, i < 0 ? nullptr : a.data + i * bytes, j < 0 ? nullptr : b.data + j * bytes,
            static_cast<std::byte*>(to.data()) + row++ * bytes, size);
  });
}

// One row of a csr matrix by growing columns, whatever the matrix has.
template <class T>
class OrderedRow {
 public:
  void take(const CsrView<T>& m, int64_t row) {
    const int64_t first = m.starts[row];
    const auto count = static_cast<size_t>(m.starts[row + 1] - first);
    columns_ = {m.columns + first, count};
    values_ = m.values + first;
    if (std::is_sorted(columns_.begin(), columns_.end())) return;
    places_.resize(count);
    std::iota(places_.begin(), places_.end(), size_t{0});
    std::stable_sort(places_.begin(), places_.end(),
                     [this](size_t a, size_t b) { return columns_[a] < columns_[b]; });
    own_columns_.clear();
    own_values_.clear();
    for (const size_t place : places_) {
      own_columns_.push_back(columns_[place]);
      own_values_.push_back(values_[place]);
    }
    columns_ = own_columns_;
    values_ = own_values_.data();
  }
  std::span<const int64_t> columns() const { return columns_; }
  T operator[](int64_t place) const { return values_[place]; }

 private:
  std::span<const int64_t> columns_;
  const T* values_ = nullptr;
  std::vector<size_t> places_;
  std::vector<int64_t> own_columns_;
  std::vector<T> own_values_;
};

void csr_with_csr(Binary op, bool joint, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
    const CsrView<T> a = csr_of<T>(input_storage(args, 0), out.shape);
    const CsrView<T> b = csr_of<T>(input_storage(args, 1), out.shape);
    CsrRows<T> rows;  // with the values of `a` at first
    std::vector<T> right;
    OrderedRow<T> own, other;
    for (int64_t row = 0; row < out.shape[0]; ++row) {
      own.take(a, row);
      other.take(b, row);
      merge(own.columns(), other.columns(), joint, [&](int64_t column, int64_t i, int64_t j) {
        rows.add(column, i < 0 ? T(0) : own[i]);
        right.push_back(j < 0 ? T(0) : other[j]);
      });
      rows.end_row();
    }
    binary_row(op, out.dtype, Spread::none, rows.values.data(), right.data(), rows.values.data(),
               static_cast<int64_t>(right.size()));
    rows.store(output_storage(args, 0));
  });
}

// A sum, or difference, with a dense array is dense. Row by row, since the output may lie where the dense operand does.
void dense_with_sparse(Binary op, const KernelArgs& args) {
  const size_t sparse = input_storage(args, 0).stype() == dense ? 1 : 0;
  const TensorView& out = args.out[0];
  const Storage& stored = input_storage(args, sparse);
  const int64_t size = row_size(out.shape), item = size_of(out.dtype), bytes = size * item;
  const auto* const other = static_cast<const std::byte*>(args.in[1 - sparse].data);
  auto* const to = static_cast<std::byte*>(out.data);
  const auto* const values = static_cast<const std::byte*>(stored.data());
  const auto apply = [&](const void* whole, const void* part, void* y, int64_t count) {
    combine(op, out.dtype, sparse ? whole : part, sparse ? part : whole, y, count);
  };
  const int64_t grain = loop_grain(std::max<int64_t>(size, 1));
  engine::parallel_for(*args.context, out.shape[0], grain, [&](int64_t begin, int64_t end) {
    std::vector<std::byte> kept;
    const int64_t* id = stored.indices();
    const int64_t* const ids_end = id + stored.count();
    if (stored.stype() == row_sparse) id = std::lower_bound(id, ids_end, begin);
    for (int64_t row = begin; row < end; ++row) {
      const std::byte* const from = other + row * bytes;
      std::byte* const y = to + row * bytes;
      if (stored.stype() == row_sparse) {
        const bool has = id != ids_end && *id == row;
        apply(from, has ? values + (id - stored.indices()) * bytes : nullptr, y, size);
        if (has) ++id;
        continue;
      }
      const int64_t first = stored.indptr()[row], last = stored.indptr()[row + 1];
      kept.resize(static_cast<size_t>((last - first) * item));
      for (int64_t k = first; k < last; ++k)
        apply(from + stored.indices()[k] * item, values + k * item, kept.data() + (k - first) * item, 1);
      apply(from, nullptr, y, size);
      for (int64_t k = first; k < last; ++k)
        std::memcpy(y + stored.indices()[k] * item, kept.data() + (k - first) * item,
                    static_cast<size_t>(item));
    }
  });
}

// Of a product with a dense array only the stored places count. The dense one may broadcast to a csr matrix.
void product_with_dense(Binary op, const KernelArgs& args) {
  const size_t sparse = input_storage(args, 0).stype() == dense ? 1 : 0;
  const TensorView& out = args.out[0];
  const TensorView& other = args.in[1 - sparse];
  const Storage& from = input_storage(args, sparse);
  Storage& to = output_storage(args, 0);
  copy_places(from, to, out.shape, out.dtype);
  const auto apply = [&](const void* part, const void* whole, void* y, int64_t count) {
    combine(op, out.dtype, sparse ? whole : part, sparse ? part : whole, y, count);
  };
  if (from.count() == 0) return;
  if (from.stype() == row_sparse) {
    const int64_t size = row_size(out.shape), bytes = size * size_of(out.dtype);
    for (int64_t place = 0; place < from.count(); ++place) {
      apply(static_cast<const std::byte*>(from.data()) + place * bytes,
            static_cast<const std::byte*>(other.data) + from.indices()[place] * bytes,
            static_cast<std::byte*>(to.data()) + place * bytes, size);
    }
    return;
  }
  const int ndim = other.shape.ndim();
  const int64_t rows = ndim == 2 ? other.shape[0] : 1, columns = other.shape[ndim - 1];
  dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
    const T* const items = static_cast<const T*>(other.data);
    T* const gathered = static_cast<T*>(to.data());
    for (int64_t row = 0; row < out.shape[0]; ++row) {
      const T* const line = items + (rows == 1 ? 0 : row * columns);
      for (int64_t k = from.indptr()[row]; k < from.indptr()[row + 1]; ++k)
        gathered[k] = line[columns == 1 ? 0 : from.indices()[k]];
    }
  });
  apply(from.data(), to.data(), to.data(), from.count());
}

bool one_of_each(const KernelSpec& spec, StorageType stype) {
  return (spec.in_stype(0) == stype && spec.in_stype(1) == dense) ||
         (spec.in_stype(0) == dense && spec.in_stype(1) == stype);
}

bool same_shapes(const KernelSpec& spec) {
  return spec.in[0].shape == spec.in[1].shape && spec.in[0].shape.ndim() > 0;
}

template <Binary op>
void sum_sparse(const KernelArgs& args) {
  const StorageType a = input_storage(args, 0).stype();
  if (a != input_storage(args, 1).stype()) dense_with_sparse(op, args);
  else if (a == csr) csr_with_csr(op, false, args);
  else rows_with_rows(op, false, args);
}

Support sums(const KernelSpec& spec) {
  if (!same_shapes(spec)) return Support::no("the shapes differ");
  if (spec.req[0] == Req::add) return Support::no("it cannot add to its output");
  if (one_of_each(spec, row_sparse) || one_of_each(spec, csr))
    return spec.out_stype(0) == dense ? Support::yes() : Support::no("a sum with a dense array is dense");
  if (spec.in_stype(0) != spec.in_stype(1) || spec.in_stype(0) == dense)
    return Support::no("the inputs differ in storage type");
  return spec.out_stype(0) == spec.in_stype(0) ? Support::yes()
                                               : Support::no("the sum is stored as its terms are");
}

template <Binary op>
void product_sparse(const KernelArgs& args) {
  const StorageType a = input_storage(args, 0).stype();
  if (a != input_storage(args, 1).stype()) product_with_dense(op, args);
  else if (a == csr) csr_with_csr(op, true, args);
  else rows_with_rows(op, true, args);
}

Support products(const KernelSpec& spec) {
  if (!same_shapes(spec)) return Support::no("the shapes differ");
  if (spec.req[0] == Req::add) return Support::no("it cannot add to its output");
  for (const StorageType stype : {row_sparse, csr}) {
    const bool both = spec.in_stype(0) == stype && spec.in_stype(1) == stype;
    if ((both || one_of_each(spec, stype)) && spec.out_stype(0) == stype) return Support::yes();
  }
  return Support::no("the product is stored as its sparse factors are, which must be of one kind");
}

template <Binary op>
void scaled(const KernelArgs& args) {
  product_with_dense(op, args);
}

// As in MXNet: a csr matrix with a dense array that broadcasts to it.
Support scales(const KernelSpec& spec) {
  if (spec.req[0] == Req::add) return Support::no("it cannot add to its output");
  if (spec.in_stype(0) != csr || spec.in_stype(1) != dense || spec.out_stype(0) != csr)
    return Support::no("it takes a csr matrix and a dense array");
  const Shape& other = spec.in[1].shape;
  if (spec.out[0].shape != spec.in[0].shape || other.ndim() < 1 || other.ndim() > 2)
    return Support::no("the dense array does not broadcast to the csr matrix");
  return Support::yes();
}

// Of what is stored on the left only.
Support scatters(const KernelSpec& spec) {
  if (!same_shapes(spec)) return Support::no("the shapes differ");
  if (spec.req[0] == Req::add) return Support::no("it cannot add to its output");
  const bool fits =
      spec.in_stype(0) != dense && spec.in_stype(1) == dense && spec.out_stype(0) == spec.in_stype(0);
  return fits ? Support::yes()
              : Support::no("it takes a sparse and a dense array, and is stored as the sparse one");
}

void add_rows(const KernelArgs& args) {
  const TensorView& out = args.out[0];
  std::vector<int64_t> ids;
  for (size_t i = 0; i < args.in.size(); ++i) {
    const Rows rows = rows_in(args, i);
    ids.insert(ids.end(), rows.ids.begin(), rows.ids.end());
  }
  const RowSet all(ids, out.shape[0]);
  const int64_t size = row_size(out.shape), bytes = size * size_of(out.dtype);
  Storage& to = output_storage(args, 0);
  to.resize_sparse(all.count(), bytes, 0);
  all.write(to.indices());
  auto* const sums = static_cast<std::byte*>(to.data());
  std::memset(sums, 0, static_cast<size_t>(all.count() * bytes));
  for (size_t i = 0; i < args.in.size(); ++i) {
    const Rows rows = rows_in(args, i);
    for (size_t k = 0; k < rows.ids.size(); ++k) {
      std::byte* const sum = sums + all.place(rows.ids[k]) * bytes;
      combine(binary_code<fn::Add>, out.dtype, sum, rows.data + static_cast<int64_t>(k) * bytes, sum, size);
    }
  }
}

Support adds_rows(const KernelSpec& spec) {
  if (spec.req[0] == Req::add) return Support::no("it cannot add to its output");
  for (size_t i = 0; i < spec.in.size(); ++i) {
    if (spec.in_stype(i) != row_sparse) return Support::no("not all inputs are row_sparse");
  }
  return spec.out_stype(0) == row_sparse ? Support::yes() : Support::no("the sum is row_sparse");
}

template <class F>
void add_sum(OpTable& table, const char* op) {
  add_sparse<sum_sparse<binary_code<F>>, sums>(table, op, "sum_sparse_cpu");
}

template <class F>
void add_product(OpTable& table, const char* op) {
  add_sparse<product_sparse<binary_code<F>>, products>(table, op, "product_sparse_cpu");
}

}  // namespace

void kernels_sparse_binary(OpTable& table) {
  add_sum<fn::Add>(table, "elemwise_add");
  add_sum<fn::Sub>(table, "elemwise_sub");
  add_sum<fn::Add>(table, "_grad_add");
  add_product<fn::Mul>(table, "elemwise_mul");
  add_product<fn::Mul>(table, "broadcast_mul");
  add_sparse<scaled<binary_code<fn::Mul>>, scales>(table, "broadcast_mul", "scale_csr_cpu");
  add_sparse<scaled<binary_code<fn::Div>>, scales>(table, "broadcast_div", "scale_csr_cpu");
  add_sparse<scaled<binary_code<fn::Div>>, scatters>(table, "_scatter_elemwise_div", "scatter_div_cpu");
  add_sparse<add_rows, adds_rows>(table, "add_n", "add_rows_cpu");
}

void gradients_sparse_binary(OpTable& table) {
  add_product<fn::BackwardSquare>(table, "_backward_square");
  add_product<fn::BackwardAbs>(table, "_backward_abs");
  add_product<fn::BackwardRelu>(table, "_backward_relu");
}

}  // namespace loomix::ops
