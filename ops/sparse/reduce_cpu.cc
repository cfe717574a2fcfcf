// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/elemwise/binary.h"
#include "ops/reduce/reduce.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

// Sums over csr matrices, squares over rows of row_sparse arrays, norms: what is not stored adds nothing.
namespace loomix::ops {
namespace {

constexpr auto dense = StorageType::dense;
constexpr auto row_sparse = StorageType::row_sparse;

bool sums_rows(const AxisSet& axes) { return axes.test(1); }     // one result a row, or for all
bool sums_columns(const AxisSet& axes) { return axes.test(0); }  // one result a column, or for all

template <bool mean>
void sum_csr(const ReduceParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& out = args.out[0];
  const AxisSet axes = axes_of(p, x.shape);
  const int64_t each = mean ? std::max<int64_t>(1, x.size() / std::max<int64_t>(out.size(), 1)) : 1;
  dispatch_numeric(x.dtype, "sum", [&]<class T>(Type<T>) {
    const CsrView<T> m = csr_of<T>(input_storage(args, 0), x.shape);
    std::vector<Accum<T>> sums(static_cast<size_t>(out.size()));
    for (int64_t row = 0; row < m.rows; ++row) {
      for (int64_t k = m.starts[row]; k < m.starts[row + 1]; ++k) {
        const int64_t line = sums_rows(axes) ? 0 : m.columns[k];
        sums[static_cast<size_t>(sums_columns(axes) ? line : row)] += static_cast<Accum<T>>(m.values[k]);
      }
    }
    T* const to = static_cast<T*>(out.data);
    for (size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<T>(sums[i] / static_cast<Accum<T>>(each));
  });
}

Support takes_csr(const ReduceParams& p, const KernelSpec& spec) {
  if (spec.in_stype(0) != StorageType::csr || spec.out_stype(0) != dense)
    return Support::no("it takes a csr matrix and gives a dense array");
  return axes_of(p, spec.in[0].shape).any() ? Support::yes() : Support::no("there is no axis to reduce");
}

// Squares of what is stored; `out` has one element.
void norm_stored(const NormParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const Storage& from = input_storage(args, 0);
  const int64_t count = from.count() * (from.stype() == row_sparse ? row_size(x.shape) : 1);
  dispatch_floating(x.dtype, "norm", [&]<class T>(Type<T>) {
    const T* const values = static_cast<const T*>(from.data());
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(values[i]);
      sum += p.ord == 1 ? std::abs(value) : value * value;
    }
    static_cast<T*>(args.out[0].data)[0] = static_cast<T>(p.ord == 1 ? sum : std::sqrt(sum));
  });
}

Support takes_norm(const NormParams& p, const KernelSpec& spec) {
  if (spec.in_stype(0) == dense || spec.out_stype(0) != dense)
    return Support::no("it takes a sparse array and gives a dense one");
  if (!is_floating(spec.in[0].dtype) || spec.out[0].dtype != spec.in[0].dtype)
    return Support::no("it takes floating types, and gives the same one");
  if (axes_of(p, spec.in[0].shape).count() != static_cast<size_t>(spec.in[0].shape.ndim()))
    return Support::no("not all axes are reduced");
  return Support::yes();
}

// Squares within each row.
template <class T>
void square_sums(const RowsView<const T>& rows, T* to) {
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    const T* const row = rows.row(static_cast<int64_t>(i));
    Accum<T> sum = 0;
    for (int64_t k = 0; k < rows.size; ++k)
      sum += static_cast<Accum<T>>(row[k]) * static_cast<Accum<T>>(row[k]);
    to[i] = static_cast<T>(sum);
  }
}

void square_sum_rows(const ReduceParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& out = args.out[0];
  Storage& to = output_storage(args, 0);
  const bool by_row = !axes_of(p, x.shape).test(0);
  dispatch_floating(x.dtype, "_square_sum", [&]<class T>(Type<T>) {
    const RowsView<const T> rows = rows_of<const T>(input_storage(args, 0), x.shape);
    if (to.stype() == row_sparse) {
      copy_places(input_storage(args, 0), to, out.shape, out.dtype);
      return square_sums(rows, static_cast<T*>(to.data()));
    }
    T* const sums = static_cast<T*>(out.data);
    if (by_row) {
      std::vector<T> stored(rows.ids.size());
      square_sums(rows, stored.data());
      std::fill_n(sums, out.size(), T(0));
      for (size_t i = 0; i < stored.size(); ++i) sums[rows.ids[i]] = stored[i];
      return;
    }
    std::vector<Accum<T>> total(static_cast<size_t>(out.size()));
    const auto width = static_cast<int64_t>(total.size());
    for (size_t i = 0; i < rows.ids.size(); ++i) {
      const T* const row = rows.row(static_cast<int64_t>(i));
      for (int64_t k = 0; k < rows.size; ++k) {
        const auto value = static_cast<Accum<T>>(row[k]);
        total[static_cast<size_t>(width == 1 ? 0 : k)] += value * value;
      }
    }
    std::transform(total.begin(), total.end(), sums, [](Accum<T> sum) { return static_cast<T>(sum); });
  });
}

Support takes_squares(const ReduceParams& p, const KernelSpec& spec) {
  const Shape& shape = spec.in[0].shape;
  if (spec.in_stype(0) != row_sparse || shape.ndim() != 2) return Support::no("it takes a row_sparse matrix");
  if (!is_floating(spec.in[0].dtype)) return Support::no("it takes floating types");
  const AxisSet axes = axes_of(p, shape);
  if (axes.none()) return Support::no("there is no axis to reduce");
  const bool keeps_rows = !axes.test(0) && p.keepdims;
  if (spec.out_stype(0) == row_sparse && keeps_rows) return Support::yes();
  return spec.out_stype(0) == dense ? Support::yes()
                                    : Support::no("only sums of rows that keep their axis are row_sparse");
}

// (gradient of the sums, row_sparse or dense; the array): stored where the array is.
void square_sum_gradient(const ReduceParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const Storage& grad = input_storage(args, 0);
  Storage& to = output_storage(args, 0);
  copy_places(input_storage(args, 1), to, out.shape, out.dtype);
  const bool by_row = !axes_of(p, out.shape).test(0);
  const int64_t wide = by_row ? 1 : args.in[0].size();
  dispatch_floating(out.dtype, "_backward_square_sum", [&]<class T>(Type<T>) {
    const RowsView<const T> x = rows_of<const T>(input_storage(args, 1), out.shape);
    T* const y = static_cast<T*>(to.data());
    const std::span<const int64_t> ids = stored_ids(grad);
    const T* const grads = static_cast<const T*>(
        grad.stype() == dense ? args.in[0].data : static_cast<const void*>(grad.data()));
    size_t next = 0;
    for (size_t i = 0; i < x.ids.size(); ++i) {
      const T* head = grads;
      if (by_row && grad.stype() == dense) head += x.ids[i];
      if (grad.stype() == row_sparse) {
        while (next < ids.size() && ids[next] < x.ids[i]) ++next;
        head = next < ids.size() && ids[next] == x.ids[i] ? grads + next : nullptr;
      }
      const T* const row = x.row(static_cast<int64_t>(i));
      T* const target = y + static_cast<int64_t>(i) * x.size;
      for (int64_t k = 0; k < x.size; ++k) {
        const auto g = head ? static_cast<Accum<T>>(head[wide == 1 ? 0 : k]) : Accum<T>(0);
        target[k] = static_cast<T>(2 * g * static_cast<Accum<T>>(row[k]));
      }
    }
  });
}

Support takes_square_gradient(const ReduceParams& p, const KernelSpec& spec) {
  const Shape& shape = spec.out[0].shape;
  if (spec.in_stype(1) != row_sparse || spec.out_stype(0) != row_sparse || shape.ndim() != 2)
    return Support::no("it takes a row_sparse matrix and gives one");
  if (!is_floating(spec.out[0].dtype)) return Support::no("it takes floating types");
  const bool by_row = !axes_of(p, shape).test(0);
  if (spec.in_stype(0) != dense && !(spec.in_stype(0) == row_sparse && by_row))
    return Support::no("the gradient is not dense, and not one of rows");
  return axes_of(p, shape).any() ? Support::yes() : Support::no("there is no axis to reduce");
}

}  // namespace

void kernels_sparse_reduce(OpTable& table) {
  add_sparse<sum_csr<false>, takes_csr>(table, "sum", "sum_csr_cpu");
  add_sparse<sum_csr<true>, takes_csr>(table, "mean", "mean_csr_cpu");
  add_sparse<norm_stored, takes_norm>(table, "norm", "norm_stored_cpu");
  add_sparse<square_sum_rows, takes_squares>(table, "_square_sum", "square_sum_rows_cpu");
}

void gradients_sparse_reduce(OpTable& table) {
  add_sparse<square_sum_gradient, takes_square_gradient>(table, "_backward_square_sum",
                                                         "square_sum_gradient_cpu");
}

}  // namespace loomix::ops
