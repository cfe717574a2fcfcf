// SPDX-License-Identifier: Apache-2.0
#include "ndarray/sparse.h"
#include "ops/families_cuda.h"
#include "ops/kernel_choice.h"
#include "ops/sparse/sparse.h"

// Functions of one array that are zero at zero: the operator's kernel for dense arrays works on the stored values.
namespace loomix::ops {
namespace {

class OnStored final : public KernelState {
 public:
  OnStored(const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec) {
    const TensorView one[] = {{nullptr, spec.in[0].dtype, Shape{1}}, {nullptr, spec.out[0].dtype, Shape{1}}};
    const std::span<const TensorView> views(one);
    const Req req = Req::write;
    dense_ = prepare_kernel(op, attrs, {views.first(1), views.last(1), {&req, 1}}, {DeviceType::gpu, 1});
    LOOMIX_CHECK(dense_.kernel->run && !dense_.state && dense_.scratch_bytes == 0, NotImplementedError,
                 "[{}] kernel {} cannot be used for the values of a sparse array.", op.name,
                 dense_.kernel->name);
  }

  void run(const AttrsBase& attrs, const KernelArgs& args) const {
    const Storage& from = input_storage(args, 0);
    Storage& to = output_storage(args, 0);
    copy_places(from, to, args.out[0].shape, args.out[0].dtype);
    publish_index(to, args.out[0].shape);
    if (to.count() == 0) return;
    const TensorView in = stored_values(from, args.in[0]), out = stored_values(to, args.out[0]);
    KernelArgs dense = args;
    dense.in = {&in, 1};
    dense.out = {&out, 1};
    dense.state = nullptr;
    dense_.kernel->run(attrs, dense);
  }

 private:
  KernelChoice dense_;
};

// The same operators, with the same rules, as on hosts.
class OnDevice final : public KernelList {
 public:
  explicit OnDevice(KernelList& list) : list_(list) {}
  void add_kernel(std::string_view op, const Kernel& of_host) override {
    Kernel kernel{.name = "stored_values_cuda", .device = DeviceType::gpu, .sparse = true};
    kernel.support = of_host.support;
    kernel.prepare = [](const OpDef& def, const AttrsBase& attrs, const KernelSpec& spec) {
      return Ref<const KernelState>(make_ref<OnStored>(def, attrs, spec));
    };
    kernel.run = [](const AttrsBase& attrs, const KernelArgs& args) {
      static_cast<const OnStored*>(args.state)->run(attrs, args);
    };
    list_.add_kernel(op, kernel);
  }

 private:
  KernelList& list_;
};

}  // namespace

void kernels_sparse_values_cuda(KernelList& list) {
  OnDevice on(list);
  kernels_of_stored_values(on);
}

}  // namespace loomix::ops
