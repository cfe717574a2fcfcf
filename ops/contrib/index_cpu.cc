// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "ops/contrib/contrib.h"
#include "ops/elemwise/apply.h"
#include "ops/loss/label.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void index_array_cpu(const IndexArrayParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const Strides strides(shape);
  const int count = p.axes ? p.axes->ndim() : shape.ndim();
  int64_t* out = args.out[0].mutable_as<int64_t>();
  int axes[Shape::kMaxDims];
  for (int k = 0; k < count; ++k)
    axes[k] = p.axes ? normalize_axis((*p.axes)[k], shape.ndim(), "index_array") : k;
  engine::parallel_each(*args.context, shape.size(), 4096, [&](int64_t i) {
    for (int k = 0; k < count; ++k) out[i * count + k] = i / strides[axes[k]] % shape[axes[k]];
  });
}

void index_copy_cpu(const KernelArgs& args) {
  const Labels index(args.in[1]);
  const int64_t count = args.in[1].size();
  check_rows(args.in[1], args.in[0].shape[0]);
  convert_cpu(args);
  if (args.in[2].size() == 0) return;
  const int64_t bytes = args.in[2].bytes() / count;
  const auto* from = static_cast<const std::byte*>(args.in[2].data);
  auto* to = static_cast<std::byte*>(args.out[0].data);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + index[i] * bytes, from + i * bytes, static_cast<size_t>(bytes));
}

void fill_element_cpu(const KernelArgs& args) {
  convert_cpu(args);
  const Labels index(args.in[2]);
  const int64_t rows = args.in[0].shape[0], columns = args.in[0].shape[1];
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    const T* values = static_cast<const T*>(args.in[1].data);
    T* out = static_cast<T*>(args.out[0].data);
    for (int64_t i = 0; i < rows; ++i) {
      if (index[i] >= 0 && index[i] < columns) out[i * columns + index[i]] = values[i];
    }
  });
}

}  // namespace

void check_rows(const TensorView& indices, int64_t rows) {
  const Labels index(indices);
  for (int64_t i = 0; i < indices.size(); ++i) {
    LOOMIX_CHECK(index[i] >= 0 && index[i] < rows, IndexError,
                 "[_contrib_index_copy] index {} of old_tensor with {} rows; expected 0 to {}.", index[i],
                 rows, rows - 1);
  }
}

void kernels_contrib_index(OpTable& table) {
  table.kernel<index_array_cpu>("_contrib_index_array", "index_array_cpu");
  table.kernel<index_copy_cpu>("_contrib_index_copy", "index_copy_cpu");
  table.kernel<fill_element_cpu>("fill_element_0index", "fill_element_cpu");
}

}  // namespace loomix::ops
