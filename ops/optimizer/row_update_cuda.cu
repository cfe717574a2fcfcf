// SPDX-License-Identifier: Apache-2.0
#include "ndarray/sparse.h"
#include "ops/cuda/index.h"
#include "ops/families_cuda.h"
#include "ops/optimizer/row_update.h"
#include "ops/optimizer/update_cuda.h"
#include "ops/optimizer/update_params.h"
#include "ops/sparse/sparse.h"

// Updates of only those rows of a dense weight that a row_sparse gradient has: the cost follows the rows that are touched.
namespace loomix::ops {
namespace {

using namespace cuda;

template <class Rule, class A>
struct UpdateStored {
  UpdateItem<Rule, A> item;  // the gradient is what it stores
  Divider width;
  const int64_t* ids;
  __device__ void operator()(int64_t i) const {
    const int64_t row = width.quotient(i), column = i - row * width.divisor();
    update_element(item, item.rule, ids[row] * width.divisor() + column, i);
  }
};

template <class P, template <class> class Rule>
void update_rows_cuda(const P& p, const KernelArgs& args) {
  const Storage& grad = input_storage(args, kGrad);
  const int64_t width = row_size(args.in[kGrad].shape), count = grad.count() * width;
  if (args.req[0] == Req::null || count == 0) return;
  const TensorView rows{grad.data(), args.in[kGrad].dtype, Shape{grad.count(), width}};
  const int64_t* const ids = device_index(grad, args.in[kGrad].shape).indices;
  const auto run = [&]<class A>(Type<A>) {
    UpdateItem<Rule<A>, A> item{Rule<A>(p), args.in[kWeight], rows, args.out[0], {}, nullptr, count, 0};
    const auto states = args.in.subspan(kGrad + 1, Rule<A>::kStates);
    for (size_t k = 0; k < states.size(); ++k) item.states[k] = states[k];
    launch_each(stream_of(args), count, UpdateStored<Rule<A>, A>{item, Divider(width), ids});
  };
  if (args.in[kWeight].dtype == DType::float64) run(Type<double>{});
  else run(Type<float>{});
}

template <RowRule rule>
Support of_dense_weights(const AttrsBase& attrs, const KernelSpec& spec) {
  if (spec.in_stype(kWeight) != StorageType::dense) return Support::no("the weight is not dense");
  return updates_rows<rule>(attrs, spec);
}

template <class P, template <class> class Rule, RowRule rule>
void add(KernelList& list, const char* op, const char* name) {
  Kernel kernel{.name = name, .device = DeviceType::gpu, .sparse = true, .updates = true};
  kernel.support = of_dense_weights<rule>;
  kernel.run = [](const AttrsBase& attrs, const KernelArgs& args) {
    update_rows_cuda<P, Rule>(attrs.as<P>(), args);
  };
  list.add_kernel(op, kernel);
}

}  // namespace

void kernels_row_update_cuda(KernelList& list) {
  using namespace update;
  add<SgdParams, Sgd, if_lazy<SgdParams>>(list, "sgd_update", "sgd_rows_cuda");
  add<SgdMomParams, SgdMom, if_lazy<SgdMomParams>>(list, "sgd_mom_update", "sgd_mom_rows_cuda");
  add<AdamParams, Adam, if_lazy<AdamParams>>(list, "adam_update", "adam_rows_cuda");
  add<AdagradParams, Adagrad, always>(list, "_sparse_adagrad_update", "adagrad_rows_cuda");
}

}  // namespace loomix::ops
