// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <vector>

#include "engine/device/cuda/element.h"
#include "engine/device/device_runtime.h"
#include "ndarray/sparse.h"
#include "ops/cuda/index.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/sparse/columns.h"
#include "ops/sparse/dot.h"
#include "ops/sparse/row_set.h"

// Products of a csr matrix, or its transpose, and a dense array, in either order. A thread makes one number, adding up in the order of the
// csr matrix; neighbours have neighbouring columns. What goes by columns of the matrix is sorted on the host, which has the index.
namespace loomix::ops {
namespace {

using namespace cuda;

template <class T>
struct RowProduct {
  Divider size;  // of a row of x and y
  const int64_t *starts, *columns;
  const int64_t* order;  // of the values; null: as they lie
  const T *values, *x;
  T* y;
  bool add;
  __device__ void operator()(int64_t i) const {
    const int64_t row = size.quotient(i), column = i - row * size.divisor();
    Accum<T> sum = 0;
    for (int64_t k = starts[row]; k < starts[row + 1]; ++k) {
      const T value = values[order != nullptr ? order[k] : k];
      sum += load(value) * load(x[columns[k] * size.divisor() + column]);
    }
    y[i] = store<T>(add ? sum + load(y[i]) : sum);
  }
};

template <class T>
struct ColumnProduct {
  Divider kept;                  // columns of y
  int64_t inner;                 // elements of a row of x
  const int64_t *starts, *rows;  // of the columns of the matrix
  const int64_t* order;          // of the values; null: as they lie
  const int64_t* ids;            // which columns are kept; null: all
  const T *values, *x;
  T* y;
  bool add;
  __device__ void operator()(int64_t i) const {
    const int64_t row = kept.quotient(i), place = i - row * kept.divisor();
    const int64_t column = ids != nullptr ? ids[place] : place;
    Accum<T> sum = 0;
    for (int64_t k = starts[column]; k < starts[column + 1]; ++k) {
      const T value = values[order != nullptr ? order[k] : k];
      sum += load(x[row * inner + rows[k]]) * load(value);
    }
    y[i] = store<T>(add ? sum + load(y[i]) : sum);
  }
};

// Columns of a matrix, where its values lie, and how many there are before each row of the result, on the device.
class Transposed {
 public:
  // Row i of the result is column number `place_of` of the matrix.
  template <class PlaceOf>
  Transposed(const Storage& matrix, const Shape& shape, int64_t rows, PlaceOf&& place_of)
      : shape_{rows, shape[0]},
        storage_(make_ref<Storage>(matrix.engine(), StorageType::csr, matrix.device())) {
    std::vector<int64_t> places(static_cast<size_t>(matrix.count()));
    std::iota(places.begin(), places.end(), 0);
    const CsrView<int64_t> numbered{matrix.indptr(), matrix.indices(), places.data(), shape[0], shape[1]};
    const Columns<int64_t> columns(numbered, rows, place_of);
    storage_->resize_sparse(matrix.count(), sizeof(int64_t), rows + 1);
    std::copy(columns.rows.begin(), columns.rows.end(), storage_->indices());
    std::copy(columns.starts.begin(), columns.starts.end(), storage_->indptr());
    if (matrix.count() > 0)
      matrix.engine()
          .device(matrix.device())
          .copy_now(storage_->data(), columns.values.data(), columns.values.size() * sizeof(int64_t));
    publish_index(*storage_, shape_);
  }
  DeviceIndex index() const { return device_index(*storage_, shape_); }
  const int64_t* order() const { return static_cast<const int64_t*>(storage_->data()); }
  // The memory is given back behind what the queue holds now.
  void used_by(engine::DeviceQueue& queue) { storage_->var().add_pending({queue.record()}); }

 private:
  Shape shape_;
  Ref<Storage> storage_;
};

// y = op(m) . x for the operands at places `m` and `x` of the inputs.
template <class T>
void product(const KernelArgs& args, size_t m, size_t x, bool transpose) {
  const Storage& matrix = input_storage(args, m);
  const Shape& shape = args.in[m].shape;
  const TensorView& out = args.out[0];
  Storage& to = output_storage(args, 0);
  const int64_t size = row_size(out.shape);
  const auto run = [&](int64_t rows, const DeviceIndex& index, const int64_t* order, T* y) {
    launch_each(
        stream_of(args), rows * size,
        RowProduct<T>{Divider(size), index.starts, index.indices, order, static_cast<const T*>(matrix.data()),
                      args.in[x].as<T>(), y, args.req[0] == Req::add});
  };
  if (!transpose) return run(shape[0], device_index(matrix, shape), nullptr, out.mutable_as<T>());
  const auto run_transposed = [&](Transposed& columns, int64_t rows, T* y) {
    run(rows, columns.index(), columns.order(), y);
    columns.used_by(*args.context->queue);
  };
  if (to.stype() == StorageType::dense) {
    Transposed columns(matrix, shape, shape[1], [](int64_t column) { return column; });
    return run_transposed(columns, shape[1], out.mutable_as<T>());
  }
  const RowSet touched(stored_ids(matrix), shape[1]);
  to.resize_sparse(touched.count(), size * size_of(out.dtype), 0);
  touched.write(to.indices());
  publish_index(to, out.shape);
  Transposed columns(matrix, shape, touched.count(), [&](int64_t column) { return touched.place(column); });
  run_transposed(columns, touched.count(), static_cast<T*>(to.data()));
}

void csr_dot_cuda(const DotParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, "dot",
                    [&]<class T>(Type<T>) { product<T>(args, 0, 1, p.transpose_a); });
}

// The gradient of the second factor: (gradient, lhs, rhs for its shape).
void csr_dot_back_cuda(const DotParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, "_backward_dot_rhs",
                    [&]<class T>(Type<T>) { product<T>(args, 1, 0, !p.transpose_a); });
}

// y = x . op(m), for the operands 0 and 1. The columns of a transpose are the rows of the matrix.
template <class T>
void product_of_dense(const KernelArgs& args, bool transpose) {
  const Storage& matrix = input_storage(args, 1);
  const Shape& shape = args.in[1].shape;
  const TensorView& out = args.out[0];
  Storage& to = output_storage(args, 0);
  int64_t kept = out.shape[1];
  const int64_t* ids = nullptr;
  T* y = static_cast<T*>(out.data);
  if (to.stype() == StorageType::csr) {
    kept = std::ssize(index_product(to, out, matrix, transpose));
    publish_index(to, out.shape);
    if (to.count() == 0) return;
    ids = device_index(to, out.shape).indices;  // of the first row, as of all
    y = static_cast<T*>(to.data());
  }
  const auto run = [&](const DeviceIndex& index, const int64_t* order) {
    launch_each(stream_of(args), out.shape[0] * kept,
                ColumnProduct<T>{Divider(kept), args.in[0].shape[1], index.starts, index.indices, order, ids,
                                 static_cast<const T*>(matrix.data()), args.in[0].as<T>(), y,
                                 args.req[0] == Req::add});
  };
  if (transpose) return run(device_index(matrix, shape), nullptr);
  Transposed columns(matrix, shape, shape[1], [](int64_t column) { return column; });
  run(columns.index(), columns.order());
  columns.used_by(*args.context->queue);
}

void dot_csr_cuda(const DotParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, "dot",
                    [&]<class T>(Type<T>) { product_of_dense<T>(args, p.transpose_b); });
}

// The gradient of the first factor: (gradient, rhs, lhs for its shape).
void dot_csr_back_cuda(const DotParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, "_backward_dot_lhs",
                    [&]<class T>(Type<T>) { product_of_dense<T>(args, !p.transpose_b); });
}

Support is_dense(const KernelSpec& spec, size_t x) {
  return spec.in_stype(x) == StorageType::dense ? Support::yes() : Support::no("the array is not dense");
}
Support dots(const DotParams& p, const KernelSpec& spec) {
  const Support dense = is_dense(spec, 1);
  return dense ? csr_dots(p, spec) : dense;
}
Support dots_back(const DotParams& p, const KernelSpec& spec) {
  const Support dense = is_dense(spec, 0);
  return dense ? csr_dots_back(p, spec) : dense;
}

}  // namespace

void kernels_sparse_dot_cuda(KernelList& list) {
  add_sparse<csr_dot_cuda, dots>(list, "dot", "csr_dot_cuda", DeviceType::gpu);
  add_sparse<dot_csr_cuda, dots_csr>(list, "dot", "dot_csr_cuda", DeviceType::gpu);
  add_sparse<dot_csr_back_cuda, dots_csr_back>(list, "_backward_dot_lhs", "dot_csr_back_cuda",
                                               DeviceType::gpu);
  add_sparse<csr_dot_back_cuda, dots_back>(list, "_backward_dot_rhs", "csr_dot_back_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
