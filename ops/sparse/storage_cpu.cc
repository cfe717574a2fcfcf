// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "ndarray/copy.h"
#include "ndarray/sparse.h"
#include "ops/elemwise/apply.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

// Conversions between storage types, copies and zeros, and the rows that are kept of an array.
namespace loomix::ops {

void copy_places(const Storage& from, Storage& to, const Shape& shape, DType dtype) {
  const bool csr = from.stype() == StorageType::csr;
  const int64_t starts = csr ? shape[0] + 1 : 0;
  to.resize_sparse(from.count(), (csr ? 1 : row_size(shape)) * size_of(dtype), starts);
  std::copy_n(from.indices(), from.count(), to.indices());
  std::copy_n(from.indptr(), starts, to.indptr());
}

std::vector<int64_t> integers_of(const TensorView& view) {
  std::vector<int64_t> numbers(static_cast<size_t>(view.size()));
  convert_elements(view.data, view.dtype, numbers.data(), DType::int64, view.size());
  return numbers;
}

void add_sparse_kernel(KernelList& table, std::string_view op, const char* name, DeviceType device,
                       KernelFn run, SupportFn support) {
  Kernel kernel{.name = name, .device = device, .sparse = true};
  kernel.run = run;
  kernel.support = support;
  table.add_kernel(op, kernel);
}

TensorView stored_values(const Storage& storage, const TensorView& whole) {
  const int64_t items = storage.stype() == StorageType::csr ? 1 : row_size(whole.shape);
  return {storage.data(), whole.dtype, Shape{storage.count() * items}};
}

void store_nothing(Storage& to, const Shape& shape, DType dtype) {
  const int64_t starts = to.stype() == StorageType::csr ? shape[0] + 1 : 0;
  to.resize_sparse(0, size_of(dtype), starts);
  std::fill_n(to.indptr(), starts, 0);
}

namespace {

void cast_storage_cpu(const CastStorageParams&, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const Storage& from = input_storage(args, 0);
  Storage& to = output_storage(args, 0);
  const bool by_dense =
      from.stype() != to.stype() && from.stype() != StorageType::dense && to.stype() != StorageType::dense;
  if (!by_dense) return convert_storage(x, from, args.out[0], to);
  std::vector<std::byte> memory(static_cast<size_t>(x.bytes()));
  const TensorView dense{memory.data(), x.dtype, x.shape};
  Storage between(from.engine(), memory.data(), x.bytes(), from.device(), [] {});
  convert_storage(x, from, dense, between);
  convert_storage(dense, between, args.out[0], to);
}

Support casts_to(const CastStorageParams& p, const KernelSpec& spec) {
  if (spec.out_stype(0) != p.stype) return Support::no("the output has another storage type than asked for");
  if (p.stype == StorageType::dense && spec.in_stype(0) == StorageType::dense)
    return Support::no("both arrays are dense");
  if (p.stype == StorageType::csr && spec.in[0].shape.ndim() != 2)
    return Support::no("a csr array has two axes");
  return Support::yes();
}

void retain_cpu(const KernelArgs& args) {
  retain_rows(args.in[0], input_storage(args, 0), args.in[1], output_storage(args, 0));
}

Support retains(const KernelSpec& spec) {
  if (spec.in_stype(0) != StorageType::row_sparse || spec.in_stype(1) != StorageType::dense ||
      spec.out_stype(0) != StorageType::row_sparse)
    return Support::no("it keeps rows of a row_sparse array, by dense indices");
  return Support::yes();
}

// Of dense arrays: the same rows, all others zero.
void retain_dense(const KernelArgs& args) {
  const TensorView& x = args.in[0];
  std::memset(args.out[0].data, 0, static_cast<size_t>(args.out[0].bytes()));
  const auto bytes = static_cast<size_t>(row_size(x.shape) * size_of(x.dtype));
  for (const int64_t row : integers_of(args.in[1])) {
    if (row < 0 || row >= x.shape[0]) continue;
    std::memcpy(static_cast<std::byte*>(args.out[0].data) + static_cast<size_t>(row) * bytes,
                static_cast<const std::byte*>(x.data) + static_cast<size_t>(row) * bytes, bytes);
  }
}

Support keeps_storage(const KernelSpec& spec) {
  if (spec.in_stype(0) == StorageType::dense || spec.out_stype(0) != spec.in_stype(0))
    return Support::no("input and output differ in storage type");
  return Support::yes();
}

void copy_sparse_cpu(const KernelArgs& args) {
  convert_storage(args.in[0], input_storage(args, 0), args.out[0], output_storage(args, 0));
}

void zeros_sparse_cpu(const KernelArgs& args) {
  store_nothing(output_storage(args, 0), args.out[0].shape, args.out[0].dtype);
}

}  // namespace

void kernels_sparse_storage(OpTable& table) {
  add_sparse<cast_storage_cpu, casts_to>(table, "cast_storage", "cast_storage_cpu");
  table.kernel<convert_cpu>("cast_storage", "copy_cpu");
  add_sparse<retain_cpu, retains>(table, "_sparse_retain", "retain_cpu");
  table.kernel<retain_dense>("_sparse_retain", "retain_dense_cpu");
  for (const char* op : {"_copy", "BlockGrad", "make_loss"})
    add_sparse<copy_sparse_cpu, keeps_storage>(table, op, "copy_sparse_cpu");
  add_sparse<zeros_sparse_cpu, keeps_storage>(table, "zeros_like", "zeros_sparse_cpu");
}

}  // namespace loomix::ops
