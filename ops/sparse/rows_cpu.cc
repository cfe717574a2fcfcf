// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "ndarray/copy.h"
#include "ops/index/index.h"
#include "ops/shape/shape.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

// Parts of csr matrices, and matrices one below the other: their rows are copied.
namespace loomix::ops {
namespace {

constexpr auto csr = StorageType::csr;

// Makes a csr matrix row by row.
template <class T>
class CsrBuilder {
 public:
  explicit CsrBuilder(int64_t rows) { starts_.reserve(static_cast<size_t>(rows) + 1); }

  // The part of a row that lies in [begin, end) of the columns.
  void add_row(const CsrView<T>& from, int64_t row, int64_t begin, int64_t end) {
    const int64_t* const last = from.columns + from.starts[row + 1];
    const int64_t* at = std::lower_bound(from.columns + from.starts[row], last, begin);
    for (; at != last && *at < end; ++at) {
      columns_.push_back(*at - begin);
      values_.push_back(from.values[at - from.columns]);
    }
    starts_.push_back(static_cast<int64_t>(columns_.size()));
  }
  void finish(Storage& to) const {
    to.resize_sparse(static_cast<int64_t>(columns_.size()), sizeof(T), static_cast<int64_t>(starts_.size()));
    std::copy(starts_.begin(), starts_.end(), to.indptr());
    std::copy(columns_.begin(), columns_.end(), to.indices());
    std::copy(values_.begin(), values_.end(), static_cast<T*>(to.data()));
  }

 private:
  std::vector<int64_t> starts_{0};
  std::vector<int64_t> columns_;
  std::vector<T> values_;
};

void slice_csr(const SliceParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const SliceRange rows = slice_range(p.begin, p.end, p.step, 0, shape[0], "slice");
  const SliceRange columns = slice_range(p.begin, p.end, p.step, 1, shape[1], "slice");
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    const CsrView<T> from = csr_of<T>(input_storage(args, 0), shape);
    CsrBuilder<T> builder(rows.count);
    for (int64_t i = 0; i < rows.count; ++i)
      builder.add_row(from, rows.begin + i * rows.step, columns.begin, columns.begin + columns.count);
    builder.finish(output_storage(args, 0));
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
  const TensorView& out = args.out[0];
  dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
    CsrBuilder<T> builder(out.shape[0]);
    for (size_t i = 0; i < args.in.size(); ++i) {
      const CsrView<T> from = csr_of<T>(input_storage(args, i), args.in[i].shape);
      for (int64_t row = 0; row < from.rows; ++row) builder.add_row(from, row, 0, from.width);
    }
    builder.finish(output_storage(args, 0));
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
  const TensorView& ids = args.in[1];
  std::vector<int64_t> rows(static_cast<size_t>(ids.size()));
  convert_elements(ids.data, ids.dtype, rows.data(), DType::int64, ids.size());
  LOOMIX_CHECK(rows.empty() || shape[0] > 0, IndexError, "[take] cannot take from shape {}, which is empty.",
               shape.to_string());
  for (int64_t& row : rows) {
    if (p.mode == IndexMode::clip) row = std::clamp<int64_t>(row, 0, shape[0] - 1);
    else row = ((row % shape[0]) + shape[0]) % shape[0];
  }
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    const CsrView<T> from = csr_of<T>(input_storage(args, 0), shape);
    CsrBuilder<T> builder(ids.size());
    for (const int64_t row : rows) builder.add_row(from, row, 0, from.width);
    builder.finish(output_storage(args, 0));
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
