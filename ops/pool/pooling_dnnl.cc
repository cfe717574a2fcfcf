// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "ops/pool/pooling.h"
#include "ops/primitive_dnnl.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using namespace onednn;
using dnnl::algorithm;

#if DNNL_VERSION_MAJOR >= 3
using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;
#else
using Forward = dnnl::pooling_v2_forward;
using Backward = dnnl::pooling_v2_backward;
#endif

constexpr int64_t kElementsAtOnce = 128 * 1024;  // a piece and its output stay in the second cache
constexpr int64_t kSmallest = 2048;              // elements of data below which plain loops are as fast

algorithm algorithm_of(const PoolingParams& p) {
  return p.count_include_pad.value_or(true) ? algorithm::pooling_avg_include_padding
                                            : algorithm::pooling_avg_exclude_padding;
}

// A primitive for some planes.
struct Plan {
  Desc data, out, scratchpad;
  dnnl::primitive run;
};

// Throws where oneDNN has no such primitive.
Plan make_plan(algorithm how, const PoolGeometry& g, int64_t planes, bool backward) {
  const int first = g.in[0] == 1 && g.out[0] == 1 && g.kernel[0] == 1 ? 1 : 0;  // one axis runs as two
  const auto axes = [&](const int64_t* sizes) { return dnnl::memory::dims(sizes + first, sizes + 3); };
  const auto plain = [&](const int64_t* sizes) {
    dnnl::memory::dims dims = {1, planes};
    dims.insert(dims.end(), sizes + first, sizes + 3);
    return Desc(dims, kFloat, first == 1 ? Tag::abcd : Tag::abcde);
  };
  int64_t after[3], dilate[3] = {};
  for (int i = 0; i < 3; ++i) {
    after[i] = std::max<int64_t>(0, (g.out[i] - 1) * g.stride[i] + g.kernel[i] - g.in[i] - g.pad[i]);
  }
  Plan plan;
  plan.data = plain(g.in);
  plan.out = plain(g.out);
  if (backward) {
    const auto hint =
        describe_hint<Forward>(dnnl::prop_kind::forward_training, how, plan.data, plan.out, axes(g.stride),
                               axes(g.kernel), axes(dilate), axes(g.pad), axes(after));
    const auto d = describe_backward<Backward>(hint, how, plan.data, plan.out, axes(g.stride), axes(g.kernel),
                                               axes(dilate), axes(g.pad), axes(after));
    plan.run = Backward(d);
    plan.scratchpad = d.scratchpad_desc();
  } else {
    const auto d = describe<Forward>(dnnl::prop_kind::forward_inference, how, plan.data, plan.out,
                                     axes(g.stride), axes(g.kernel), axes(dilate), axes(g.pad), axes(after));
    plan.run = Forward(d);
    plan.scratchpad = d.scratchpad_desc();
  }
  return plan;
}

// oneDNN's objects for the memory that one thread works on.
struct Bindings {
  Pointer data, out, scratchpad;
  explicit Bindings(const Plan& plan) : data(plan.data), out(plan.out), scratchpad(plan.scratchpad) {}
};

// All planes, in pieces of so many that they fit the cache; the last one may be smaller.
struct Pieces {
  int64_t planes, at_once;
  std::optional<Plan> whole, rest;

  Pieces(algorithm how, const PoolGeometry& g, bool backward) : planes(g.batch * g.channels) {
    constexpr int64_t kVector = 16;
    at_once = std::max<int64_t>(1, kElementsAtOnce / (kVector * g.in_size())) * kVector;
    if (planes >= at_once) whole = make_plan(how, g, at_once, backward);
    if (planes % at_once != 0) rest = make_plan(how, g, planes % at_once, backward);
  }
  int64_t count() const { return (planes + at_once - 1) / at_once; }
  int64_t first(int64_t i) const { return i * at_once; }
  int64_t size(int64_t i) const { return std::min(at_once, planes - first(i)); }
  const Plan& plan(int64_t i) const { return size(i) == at_once ? *whole : *rest; }
  // The largest of a number of floats over both plans.
  template <class Size>
  int64_t most(Size&& size) const {
    return std::max(whole ? size(*whole) : 0, rest ? size(*rest) : 0);
  }
};

// What one thread needs: objects for both plans, if there are both.
struct Worker {
  std::optional<Bindings> whole, rest;
  explicit Worker(const Pieces& pieces) {
    if (pieces.whole) whole.emplace(*pieces.whole);
    if (pieces.rest) rest.emplace(*pieces.rest);
  }
  Bindings& of(const Pieces& pieces, int64_t i) { return pieces.size(i) == pieces.at_once ? *whole : *rest; }
};
using Session = std::vector<Worker>;  // of one run: one for each thread

class PreparedPooling : public KernelState {
 public:
  static constexpr const char* kOperator = "Pooling";

 protected:
  PreparedPooling(const PoolingParams& p, const PoolGeometry& g, bool backward, int cores)
      : geometry_(g),
        pieces_(algorithm_of(p), g, backward),
        slots_(static_cast<int>(std::min<int64_t>(std::min(cores, ScratchSlots::kMost), pieces_.count()))),
        slot_bytes_(
            static_cast<size_t>(pieces_.most([](const Plan& plan) { return floats(plan.scratchpad); })) *
            sizeof(float)) {
    scratch_bytes = static_cast<size_t>(slots_) * slot_bytes_;
  }

  // Calls part(i, bindings of its plan, its thread's scratch memory) for each piece.
  template <class Part>
  void each(const KernelArgs& args, Part&& part) const {
    const OneThread one_thread(*args.context);
    std::unique_ptr<Session> session = sessions_.take([this] {
      auto made = std::make_unique<Session>();
      made->reserve(static_cast<size_t>(slots_));
      for (int slot = 0; slot < slots_; ++slot) made->emplace_back(pieces_);
      return made;
    });
    ScratchSlots slots(args.scratch, slot_bytes_, slots_);
    each_part(*args.context, pieces_.count(), [&](int64_t i) {
      const ScratchSlots::Use slot(slots);
      part(i, (*session)[static_cast<size_t>(slot.index)].of(pieces_, i), slot.as<float>());
    });
    sessions_.give_back(std::move(session));
  }

  const PoolGeometry geometry_;
  const Pieces pieces_;

 private:
  const int slots_;
  const size_t slot_bytes_;
  mutable Spares<Session> sessions_;
};

class PoolingDnnl final : public PreparedPooling {
 public:
  PoolingDnnl(const PoolingParams& p, const KernelSpec& spec)
      : PreparedPooling(p, PoolGeometry(p, spec.in[0].shape), false, spec.cores) {}

  void run(const PoolingParams&, const KernelArgs& args) const {
    const float* data = args.in[0].as<float>();
    float* out = args.out[0].mutable_as<float>();
    each(args, [&](int64_t i, Bindings& bound, float* scratch) {
      execute(pieces_.plan(i).run,
              {{DNNL_ARG_SRC, bound.data.at(data + pieces_.first(i) * geometry_.in_size())},
               {DNNL_ARG_DST, bound.out.at(out + pieces_.first(i) * geometry_.out_size())},
               {DNNL_ARG_SCRATCHPAD, bound.scratchpad.at(scratch)}});
    });
  }
};

class PoolingBackwardDnnl final : public PreparedPooling {
 public:
  PoolingBackwardDnnl(const PoolingParams& p, const KernelSpec& spec)
      : PreparedPooling(p, PoolGeometry(p, spec.in[1].shape), true, spec.cores) {}

  void run(const PoolingParams&, const KernelArgs& args) const {
    const float* grad = args.in[0].as<float>();
    float* out = args.out[0].mutable_as<float>();
    each(args, [&](int64_t i, Bindings& bound, float* scratch) {
      execute(pieces_.plan(i).run,
              {{DNNL_ARG_DIFF_DST, bound.out.at(grad + pieces_.first(i) * geometry_.out_size())},
               {DNNL_ARG_DIFF_SRC, bound.data.at(out + pieces_.first(i) * geometry_.in_size())},
               {DNNL_ARG_SCRATCHPAD, bound.scratchpad.at(scratch)}});
    });
  }
};

bool has_primitive(algorithm how, const PoolGeometry& g, bool backward) {
  static auto& findings = *new Findings();  // outlives all threads that choose kernels
  Findings::Question question = {static_cast<int64_t>(how), backward ? 1 : 0, g.batch * g.channels};
  for (const auto* sizes : {g.in, g.out, g.kernel, g.stride, g.pad})
    question.insert(question.end(), sizes, sizes + 3);
  return findings.get(question, [&] {
    const OneThread one_thread;
    try {
      Pieces(how, g, backward);
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) throw;
      return false;
    }
    return true;
  });
}

template <int data>
Support accepts(const PoolingParams& p, const KernelSpec& spec) {
  if (spec.in[data].dtype != DType::float32) return Support::no("it is for float32");
  if (channels_last(p.layout)) return Support::no("it is for channels first");
  if (p.pool_type != PoolType::avg) return Support::no("it is for averages");
  if (spec.in[data].size() < kSmallest) return Support::no("the data is small");
  if (spec.out[0].size() == 0) return Support::no("there is no data");
  const PoolGeometry g(p, spec.in[data].shape);
  for (int i = 0; i < 3; ++i) {
    const int64_t last = (g.out[i] - 1) * g.stride[i] - g.pad[i];  // where the last window begins
    if (g.kernel[i] <= g.pad[i] || last >= g.in[i]) return Support::no("a window lies outside of the data");
    // Their size is what the average is taken over then.
    if (algorithm_of(p) == algorithm::pooling_avg_include_padding &&
        last + g.kernel[i] > g.in[i] + g.pad[i]) {
      return Support::no("windows are cut at the end");
    }
  }
  if (!has_primitive(algorithm_of(p), g, data == 1))
    return Support::no("oneDNN has no kernel for it, or only loops for reference");
  return Support::yes();
}

}  // namespace

void kernels_pool_dnnl(OpTable& table) {
  if (!is_on()) return;
  using P = PoolingParams;
  table.prepared_kernel<P, Checked<P, PoolingDnnl>, accepts<0>>("Pooling", "pooling_dnnl");
}

void gradients_pool_dnnl(OpTable& table) {
  if (!is_on()) return;
  using P = PoolingParams;
  table.prepared_kernel<P, Checked<P, PoolingBackwardDnnl>, accepts<1>>("_backward_Pooling_mean",
                                                                        "pooling_mean_backward_dnnl");
}

}  // namespace loomix::ops
