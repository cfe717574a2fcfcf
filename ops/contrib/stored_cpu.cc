// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "ops/contrib/contrib.h"
#include "ops/loss/label.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// fn(row, column) for each stored element.
template <class Fn>
void each_stored(const KernelArgs& args, Fn&& fn) {
  const CsrView<void> stored = csr_of<void>(input_storage(args, 0), args.in[0].shape);
  for (int64_t row = 0; row < stored.rows; ++row) {
    for (int64_t i = stored.starts[row]; i < stored.starts[row + 1]; ++i) fn(row, stored.columns[i]);
  }
}

template <class Fn>
void each_nonzero(const KernelArgs& args, Fn&& fn) {
  const int64_t columns = args.in[0].shape[1];
  dispatch_all(args.in[0].dtype, "getnnz", [&]<class T>(Type<T>) {
    const T* data = args.in[0].as<T>();
    for (int64_t i = 0; i < args.in[0].size(); ++i) {
      if (data[i] != T(0)) fn(i / columns, i % columns);
    }
  });
}

template <class Each>
void count(const GetnnzParams& p, const KernelArgs& args, Each&& each) {
  int64_t* out = args.out[0].mutable_as<int64_t>();
  std::fill_n(out, args.out[0].size(), int64_t{0});
  const int axis = p.axis ? normalize_axis(*p.axis, 2, "getnnz") : -1;
  each(args, [&](int64_t row, int64_t column) { ++out[axis < 0 ? 0 : axis == 1 ? row : column]; });
}

// find(row, column) gives the element's value, or null.
template <class T, class Find>
void look_up(const KernelArgs& args, Find&& find) {
  const Labels u(args.in[1]), v(args.in[2]);
  const Shape& shape = args.in[0].shape;
  T* out = args.out[0].mutable_as<T>();
  for (int64_t i = 0; i < args.out[0].size(); ++i) {
    LOOMIX_CHECK(u[i] >= 0 && u[i] < shape[0], IndexError,
                 "[_contrib_edge_id] u[{}] is {}; expected 0 to {}.", i, u[i], shape[0] - 1);
    const T* found = v[i] >= 0 && v[i] < shape[1] ? find(u[i], v[i]) : nullptr;
    out[i] = found ? *found : static_cast<T>(-1);
  }
}

Support takes_csr(const KernelSpec& spec) {
  if (spec.in_stype(0) != StorageType::csr) return Support::no("data is not csr");
  for (size_t i = 1; i < spec.in.size(); ++i) {
    if (spec.in_stype(i) != StorageType::dense) return Support::no("an index is sparse");
  }
  const StorageType out = spec.out_stype(0);  // undefined: whatever the kernel makes
  const bool sparse = out == StorageType::csr || out == StorageType::row_sparse;
  return sparse ? Support::no("the output is sparse") : Support::yes();
}

void getnnz_csr(const GetnnzParams& p, const KernelArgs& args) {
  count(p, args, [](const KernelArgs& a, auto&& fn) { each_stored(a, fn); });
}
void getnnz_cpu(const GetnnzParams& p, const KernelArgs& args) {
  count(p, args, [](const KernelArgs& a, auto&& fn) { each_nonzero(a, fn); });
}

void edge_id_csr(const KernelArgs& args) {
  dispatch_numeric(args.out[0].dtype, "edge_id", [&]<class T>(Type<T>) {
    const CsrView<T> stored = csr_of<T>(input_storage(args, 0), args.in[0].shape);
    look_up<T>(args, [&](int64_t row, int64_t column) -> const T* {
      const int64_t* const last = stored.columns + stored.starts[row + 1];
      const int64_t* const place = std::find(stored.columns + stored.starts[row], last, column);
      return place == last ? nullptr : stored.values + (place - stored.columns);
    });
  });
}

void edge_id_cpu(const KernelArgs& args) {
  dispatch_numeric(args.out[0].dtype, "edge_id", [&]<class T>(Type<T>) {
    look_up<T>(args, [&](int64_t row, int64_t column) -> const T* {
      const T* place = args.in[0].as<T>() + row * args.in[0].shape[1] + column;
      return *place == T(0) ? nullptr : place;
    });
  });
}

}  // namespace

void kernels_contrib_stored(OpTable& table) {
  add_sparse<getnnz_csr, takes_csr>(table, "_contrib_getnnz", "getnnz_csr");
  table.kernel<getnnz_cpu>("_contrib_getnnz", "getnnz_cpu");
  add_sparse<edge_id_csr, takes_csr>(table, "_contrib_edge_id", "edge_id_csr");
  table.kernel<edge_id_cpu>("_contrib_edge_id", "edge_id_cpu");
}

}  // namespace loomix::ops
