// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "ops/contrib/contrib.h"
#include "ops/loss/label.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// A csr matrix in its task.
struct Stored {
  int64_t count;
  const int64_t *columns, *rows;
  explicit Stored(const Storage& storage)
      : count(storage.count()), columns(storage.indices()), rows(storage.indptr()) {}
  int64_t begin(int64_t row) const { return count == 0 ? 0 : rows[row]; }
  int64_t end(int64_t row) const { return count == 0 ? 0 : rows[row + 1]; }
};

// fn(row, column) for each stored element.
template <class Fn>
void each_stored(const KernelArgs& args, Fn&& fn) {
  const Stored stored(*args.storages[0]);
  for (int64_t row = 0; row < args.in[0].shape[0]; ++row) {
    for (int64_t i = stored.begin(row); i < stored.end(row); ++i) fn(row, stored.columns[i]);
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
  if (args.req[0] == Req::null) return;
  int64_t* out = args.out[0].mutable_as<int64_t>();
  std::fill_n(out, args.out[0].size(), int64_t{0});
  const int axis = p.axis ? normalize_axis(*p.axis, 2, "getnnz") : -1;
  each(args, [&](int64_t row, int64_t column) { ++out[axis < 0 ? 0 : axis == 1 ? row : column]; });
}

// find(row, column) gives the element's value, or null.
template <class T, class Find>
void look_up(const KernelArgs& args, Find&& find) {
  if (args.req[0] == Req::null) return;
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

void edge_id_csr(const NoParams&, const KernelArgs& args) {
  const Stored stored(*args.storages[0]);
  dispatch_numeric(args.out[0].dtype, "edge_id", [&]<class T>(Type<T>) {
    look_up<T>(args, [&](int64_t row, int64_t column) -> const T* {
      const int64_t* first = stored.columns + stored.begin(row);
      const int64_t* last = stored.columns + stored.end(row);
      const int64_t* place = std::lower_bound(first, last, column);
      if (place == last || *place != column) return nullptr;
      return static_cast<const T*>(args.storages[0]->data()) + (place - stored.columns);
    });
  });
}

void edge_id_cpu(const NoParams&, const KernelArgs& args) {
  dispatch_numeric(args.out[0].dtype, "edge_id", [&]<class T>(Type<T>) {
    look_up<T>(args, [&](int64_t row, int64_t column) -> const T* {
      const T* place = args.in[0].as<T>() + row * args.in[0].shape[1] + column;
      return *place == T(0) ? nullptr : place;
    });
  });
}

template <class P, void (*Csr)(const P&, const KernelArgs&), void (*Dense)(const P&, const KernelArgs&)>
void add(OpTable& table, const char* op, const char* csr, const char* dense) {
  Kernel kernel;
  kernel.name = csr;
  kernel.device = DeviceType::cpu;
  kernel.sparse = true;
  kernel.support = [](const AttrsBase&, const KernelSpec& spec) { return takes_csr(spec); };
  kernel.run = [](const AttrsBase& attrs, const KernelArgs& args) { Csr(attrs.as<P>(), args); };
  table.add_kernel(op, kernel);
  table.kernel<Dense>(op, dense);
}

}  // namespace

void kernels_contrib_stored(OpTable& table) {
  add<GetnnzParams, getnnz_csr, getnnz_cpu>(table, "_contrib_getnnz", "getnnz_csr", "getnnz_cpu");
  add<NoParams, edge_id_csr, edge_id_cpu>(table, "_contrib_edge_id", "edge_id_csr", "edge_id_cpu");
}

}  // namespace loomix::ops
