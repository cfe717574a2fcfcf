// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "ops/index/index.h"
#include "ops/shape/shape.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

// Parts of csr matrices, and matrices one below the other: their rows are copied.
namespace loomix::ops {
namespace {

constexpr auto csr = StorageType::csr;

// Appends the part of a row that lies in [begin, end) of the columns.
template <class T>
void add_row(CsrRows<T>& rows, const CsrView<T>& from, int64_t row, int64_t begin, int64_t end) {
  for (int64_t at = from.starts[row]; at < from.starts[row + 1]; ++at) {
    if (begin <= from.columns[at] && from.columns[at] < end)
      rows.add(from.columns[at] - begin, from.values[at]);
  }
  rows.end_row();
}

void slice_csr(const SliceParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const SliceRange rows = slice_range(p.begin, p.end, p.step, 0, shape[0], "slice");
  const SliceRange columns = slice_range(p.begin, p.end, p.step, 1, shape[1], "slice");
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    const CsrView<T> from = csr_of<T>(input_storage(args, 0), shape);
    CsrRows<T> kept;
    for (int64_t i = 0; i < rows.count; ++i)
      add_row(kept, from, rows.begin + i * rows.step, columns.begin, columns.begin + columns.count);
    kept.store(output_storage(args, 0));
  });
}

Support slices(const SliceParams& p, const KernelSpec& spec) {
  if (spec.in_stype(0) != csr || spec.out_stype(0) != csr)
    return Support::no("it takes and gives csr matrices");
  return slice_range(p.begin, p.end, p.step, 1, spec.in[0].shape[1], "slice").step == 1
             ? Support::yes()
             : Support::no("the step along the columns is not 1");
}

void concat_csr(const ConcatParams&, const KernelArgs& args) {
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    CsrRows<T> joined;
    for (size_t i = 0; i < args.in.size(); ++i) {
      const CsrView<T> from = csr_of<T>(input_storage(args, i), args.in[i].shape);
      for (int64_t row = 0; row < from.rows; ++row) add_row(joined, from, row, 0, from.width);
    }
    joined.store(output_storage(args, 0));
  });
}

Support concatenates(const ConcatParams& p, const KernelSpec& spec) {
  if (p.dim != 0 && p.dim != -2) return Support::no("it joins rows: dim is 0");
  for (size_t i = 0; i < spec.in.size(); ++i) {
    if (spec.in_stype(i) != csr) return Support::no("not all inputs are csr");
  }
  return spec.out_stype(0) == csr ? Support::yes() : Support::no("its output is csr");
}

void take_csr(const TakeParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  std::vector<int64_t> rows = integers_of(args.in[1]);
  LOOMIX_CHECK(rows.empty() || shape[0] > 0, IndexError, "[take] cannot take from shape {}, which is empty.",
               shape.to_string());
  for (int64_t& row : rows) {
    if (p.mode == IndexMode::clip) row = std::clamp<int64_t>(row, 0, shape[0] - 1);
    else row = ((row % shape[0]) + shape[0]) % shape[0];
  }
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    const CsrView<T> from = csr_of<T>(input_storage(args, 0), shape);
    CsrRows<T> taken;
    for (const int64_t row : rows) add_row(taken, from, row, 0, from.width);
    taken.store(output_storage(args, 0));
  });
}

Support takes(const TakeParams& p, const KernelSpec& spec) {
  if (spec.in_stype(0) != csr || spec.in_stype(1) != StorageType::dense || spec.out_stype(0) != csr)
    return Support::no("it takes a csr matrix and dense indices, and gives a csr matrix");
  if ((p.axis != 0 && p.axis != -2) || spec.in[1].shape.ndim() != 1)
    return Support::no("it takes rows, by indices of one axis");
  return p.mode == IndexMode::raise ? Support::no("its mode is clip or wrap") : Support::yes();
}

}  // namespace

void kernels_sparse_rows(OpTable& table) {
  add_sparse<slice_csr, slices>(table, "slice", "slice_csr_cpu");
  add_sparse<concat_csr, concatenates>(table, "Concat", "concat_csr_cpu");
  add_sparse<take_csr, takes>(table, "take", "take_csr_cpu");
}

}  // namespace loomix::ops
