// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <vector>

#include "ops/limits.h"
#include "ops/linear/product_list.h"
#include "ops/primitive_dnnl.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

// Products of bfloat16 matrices where the processor multiplies them itself: sums are float32, and rounded once.
namespace loomix::ops {
namespace {

using namespace onednn;

constexpr auto kBfloat = dnnl::memory::data_type::bf16;
constexpr int64_t kMostBlocks = 16, kUnit = 32, kShortest = 64;

// The product is cut along its longer side, by its shape alone.
struct Blocks {
  bool across;  // by columns
  int64_t length, count, last;

  explicit Blocks(const MatMul& s) : across(s.n >= s.m) {
    const int64_t whole = across ? s.n : s.m;
    const double flops = 2.0 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k);
    const int64_t wanted =
        std::clamp<int64_t>(static_cast<int64_t>(flops / work_limits().bfloat16_block_flops), 1,
                            std::clamp<int64_t>(whole / kShortest, 1, kMostBlocks));
    length = std::min(whole, ((whole + wanted - 1) / wanted + kUnit - 1) / kUnit * kUnit);
    count = (whole + length - 1) / length;
    last = whole - (count - 1) * length;
  }
};

// The primitive for blocks of one size.
struct Plan {
  Desc a, b, c, bias, scratchpad;
  dnnl::matmul run;

  Plan(const MatMul& s, const Blocks& blocks, int64_t length, bool with_bias, bool add) {
    const int64_t m = blocks.across ? s.m : length, n = blocks.across ? length : s.n;
    const auto matrix = [](int64_t rows, int64_t columns, int64_t step, bool transposed) {
      return Desc({rows, columns}, kBfloat,
                  transposed ? dnnl::memory::dims{1, step} : dnnl::memory::dims{step, 1});
    };
    a = matrix(m, s.k, s.transpose_a ? s.m : s.k, s.transpose_a);
    b = matrix(s.k, n, s.transpose_b ? s.k : s.n, s.transpose_b);
    c = matrix(m, n, s.n, false);
    bias = with_bias ? Desc({1, n}, kBfloat, dnnl::memory::dims{n, 1}) : Desc();
    dnnl::primitive_attr how = attributes();
    if (add) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      how.set_post_ops(sum);
    }
    const auto d = describe_with<dnnl::matmul>(how, a, b, bias, c);
    scratchpad = d.scratchpad_desc();
    run = dnnl::matmul(d);
  }
};

// oneDNN's objects for the memory that one thread works on.
struct Bindings {
  Pointer a, b, c, bias, scratchpad;
  explicit Bindings(const Plan& plan)
      : a(plan.a), b(plan.b), c(plan.c), bias(plan.bias), scratchpad(plan.scratchpad) {}
};

class PreparedProduct : public KernelState {
 public:
  static constexpr const char* kOperator = "matmul";

 protected:
  PreparedProduct(const Product& product, bool with_bias, bool add, int cores)
      : product_(product),
        blocks_(product.shape),
        slots_(static_cast<int>(std::min<int64_t>(slots_for(cores), product.batch * blocks_.count))) {
    plans_.emplace_back(product.shape, blocks_, blocks_.length, with_bias, add);
    if (blocks_.last != blocks_.length)
      plans_.emplace_back(product.shape, blocks_, blocks_.last, with_bias, add);
    for (const Plan& plan : plans_) slot_bytes_ = std::max(slot_bytes_, aligned(plan.scratchpad.get_size()));
    scratch_bytes = slot_bytes_ * static_cast<size_t>(slots_);
  }

  void multiply(const KernelArgs& args, const TensorView* bias) const {
    const MatMul& s = product_.shape;
    const auto* const a = args.in[product_.a].as<bfloat16>();
    const auto* const b = args.in[product_.b].as<bfloat16>();
    const auto* const more = bias ? bias->as<bfloat16>() : nullptr;
    auto* const c = args.out[0].mutable_as<bfloat16>();
    const OneThread one_thread(*args.context);
    std::unique_ptr<Session> session = sessions_.take([this] {
      auto made = std::make_unique<Session>();
      for (int slot = 0; slot < slots_; ++slot) {
        for (const Plan& plan : plans_) made->emplace_back(plan);
      }
      return made;
    });
    ScratchSlots slots(args.scratch, slot_bytes_, slots_);
    each_part(*args.context, product_.batch * blocks_.count, [&](int64_t i) {
      const int64_t item = i / blocks_.count, first = i % blocks_.count * blocks_.length;
      const size_t plan = i % blocks_.count == blocks_.count - 1 ? plans_.size() - 1 : 0;
      const int64_t row = blocks_.across ? 0 : first, column = blocks_.across ? first : 0;
      const ScratchSlots::Use slot(slots);
      Bindings& bound = (*session)[static_cast<size_t>(slot.index) * plans_.size() + plan];
      const dnnl_exec_arg_t left{DNNL_ARG_SRC,
                                 bound.a.at(a + item * s.m * s.k + row * (s.transpose_a ? 1 : s.k))};
      const dnnl_exec_arg_t right{DNNL_ARG_WEIGHTS,
                                  bound.b.at(b + item * s.k * s.n + column * (s.transpose_b ? s.k : 1))};
      const dnnl_exec_arg_t out{DNNL_ARG_DST, bound.c.at(c + item * s.m * s.n + row * s.n + column)};
      const dnnl_exec_arg_t scratchpad{DNNL_ARG_SCRATCHPAD, bound.scratchpad.at(slot.as<std::byte>())};
      if (more) {
        execute(plans_[plan].run,
                {left, right, out, scratchpad, {DNNL_ARG_BIAS, bound.bias.at(more + column)}});
      } else {
        execute(plans_[plan].run, {left, right, out, scratchpad});
      }
    });
    sessions_.give_back(std::move(session));
  }

 private:
  using Session = std::vector<Bindings>;
  const Product product_;
  const Blocks blocks_;
  const int slots_;
  std::vector<Plan> plans_;  // the usual one, and that of a shorter last block if need be
  size_t slot_bytes_ = 0;
  mutable Spares<Session> sessions_;
};

template <class P, ProductOf<P> product_of>
class ProductState final : public PreparedProduct {
 public:
  ProductState(const P& p, const KernelSpec& spec)
      : PreparedProduct(product_of(p, spec.in, spec.out), false, spec.req[0] == Req::add, spec.cores) {}
  void run(const P&, const KernelArgs& args) const {
    if (args.req[0] != Req::null) multiply(args, nullptr);
  }
};

class FullyConnectedState final : public PreparedProduct {
 public:
  FullyConnectedState(const FullyConnectedParams& p, const KernelSpec& spec)
      : PreparedProduct(fully_connected_product(p, spec.in, spec.out), !p.no_bias, false, spec.cores) {}
  void run(const FullyConnectedParams& p, const KernelArgs& args) const {
    if (args.req[0] != Req::null) multiply(args, p.no_bias ? nullptr : &args.in[2]);
  }
};

template <class P, ProductOf<P> product_of>
Support accepts(const P& p, const KernelSpec& spec) {
  if (spec.out[0].dtype != DType::bfloat16) return Support::no("it is for bfloat16");
  if (!multiplies_bfloat16()) return Support::no("this processor has no instructions for bfloat16");
  const Product product = product_of(p, spec.in, spec.out);
  if (spec.out[0].size() == 0 || product.shape.k == 0) return Support::no("there is no data");
  return Support::yes();
}

struct Products {
  OpTable& table;
  template <class P, ProductOf<P> product_of, uint32_t, bool>
  void operator()(const char* op) const {
    table.prepared_kernel<P, Checked<P, ProductState<P, product_of>>, accepts<P, product_of>>(
        op, "matmul_bfloat16_dnnl");
  }
};

}  // namespace

void kernels_bfloat16_dnnl(OpTable& table) {
  using FC = FullyConnectedParams;
  table.prepared_kernel<FC, Checked<FC, FullyConnectedState>, accepts<FC, fully_connected_product>>(
      "FullyConnected", "matmul_bfloat16_dnnl");
  each_product(Products{table});
}

void gradients_bfloat16_dnnl(OpTable& table) { each_gradient_product(Products{table}); }

}  // namespace loomix::ops
