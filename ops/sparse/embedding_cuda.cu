// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <vector>

#include "engine/device/cuda/element.h"
#include "ndarray/sparse.h"
#include "ops/cuda/report.h"
#include "ops/families_cuda.h"
#include "ops/index/gather_cuda.h"
#include "ops/sparse/find_cuda.h"
#include "ops/sparse/look_ups.h"
#include "ops/sparse/sparse.h"

// Rows of a row_sparse weight, and the gradient of a weight of which only the rows that were looked up are stored. Which these are the
// host has to know: it reads the data when the device is done with it, and then adds up on the device.
namespace loomix::ops {
namespace {

using namespace cuda;

template <class T>
struct TakeRows {
  Divider width;
  Indices data;
  const int64_t* ids;  // of the rows that are stored
  int64_t count;
  const T* rows;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t item = width.quotient(i);
    const int64_t place = find(ids, 0, count, data[item], true);
    to[i] = place < 0 ? T{} : rows[place * width.divisor() + (i - item * width.divisor())];
  }
};

void embedding_rows_cuda(const EmbeddingParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const TensorView& out = args.out[0];
  const Storage& weight = input_storage(args, 1);
  const DeviceIndex index = device_index(weight, args.in[1].shape);
  dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
    launch_each(
        stream_of(args), out.size(),
        TakeRows<T>{Divider(p.output_dim), Indices(args.in[0], p.input_dim, IndexMode::clip), index.indices,
                    weight.count(), static_cast<const T*>(weight.data()), static_cast<T*>(out.data)});
  });
}

Support embeds_rows(const EmbeddingParams&, const KernelSpec& spec) {
  if (spec.in_stype(0) != StorageType::dense || spec.in_stype(1) != StorageType::row_sparse ||
      spec.out_stype(0) != StorageType::dense)
    return Support::no("it takes dense data and a row_sparse weight, and gives a dense output");
  return spec.req[0] == Req::add ? Support::no("it cannot add to its output") : Support::yes();
}

// ---- gradient ------------------------------------------------------------------------------------------------------------

// Where it is looked up is added up in the order of the data, as on hosts.
template <class T>
struct SumLookUps {
  Divider width;
  const int64_t *starts, *order;
  const T* grad;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t row = width.quotient(i), item = i - row * width.divisor();
    Accum<T> sum = 0;
    for (int64_t k = starts[row]; k < starts[row + 1]; ++k)
      sum += load(grad[order[k] * width.divisor() + item]);
    to[i] = store<T>(sum);
  }
};

void sum_look_ups(const EmbeddingParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  Storage& to = output_storage(args, 0);
  const LookUps look_ups(clipped_ids(HostCopy(args.in[1]).view(), p.input_dim), p.input_dim);
  const int64_t rows = look_ups.rows.count();
  to.resize_sparse(rows, p.output_dim * size_of(out.dtype), 0);
  look_ups.rows.write(to.indices());
  publish_index(to, out.shape);
  if (rows == 0) return;
  // Both lists lie on the device as the index of a matrix does.
  const auto lists = make_ref<Storage>(to.engine(), StorageType::csr, to.device());
  lists->resize_sparse(std::ssize(look_ups.order), 0, rows + 1);
  std::ranges::copy(look_ups.order, lists->indices());
  std::ranges::copy(look_ups.starts, lists->indptr());
  const Shape shape{rows, 1};
  publish_index(*lists, shape);
  const DeviceIndex index = device_index(*lists, shape);
  dispatch_floating(out.dtype, "_backward_SparseEmbedding", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), rows * p.output_dim,
                SumLookUps<T>{Divider(p.output_dim), index.starts, index.indices, args.in[0].as<T>(),
                              static_cast<T*>(to.data())});
  });
  lists->var().add_pending({args.context->queue->record()});
}

void embedding_gradient_cuda(const AttrsBase& attrs, const KernelArgs& args, engine::Completion completion) {
  if (args.req[0] == Req::null) return completion.done();
  go_on_when_done(args, std::move(completion),
                  [&p = attrs.as<EmbeddingParams>()](const KernelArgs& kept) { sum_look_ups(p, kept); });
}

Support gives_rows_there(const EmbeddingParams&, const KernelSpec& spec) {
  const Support rows = gives_rows(spec);
  if (!rows) return rows;
  return is_floating(spec.out[0].dtype) ? Support::yes() : Support::no("it is for floating types");
}

}  // namespace

void kernels_sparse_embedding_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  for (const char* op : {"Embedding", "_contrib_SparseEmbedding"})
    add_sparse<embedding_rows_cuda, embeds_rows>(list, op, "embedding_rows_cuda", gpu);
  RunOtherwise on_device(list, embedding_gradient_cuda);
  add_sparse<not_run<EmbeddingParams>, gives_rows_there>(on_device, "_backward_SparseEmbedding",
                                                         "embedding_gradient_cuda", gpu);
}

}  // namespace loomix::ops
