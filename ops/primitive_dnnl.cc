// SPDX-License-Identifier: Apache-2.0
#include "ops/primitive_dnnl.h"

namespace loomix::ops::onednn {

const dnnl::engine& cpu() {
  static const dnnl::engine* const engine =
      new dnnl::engine(dnnl::engine::kind::cpu, 0);  // outlives all tasks
  return *engine;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream stream(cpu());
  return stream;
}

bool multiplies_bfloat16() {
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  static const bool does = (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
  return does;
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Place::Place(const Desc& plain, const Desc& inner) : plain_(plain), inner_(inner) {
  if (same()) return;
  to_inner_ = dnnl::reorder(dnnl::reorder::primitive_desc(cpu(), plain, cpu(), inner));
  to_plain_ = dnnl::reorder(dnnl::reorder::primitive_desc(cpu(), inner, cpu(), plain));
}

void execute(const dnnl::primitive& primitive, std::initializer_list<dnnl_exec_arg_t> args) {
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), stream().get(), static_cast<int>(args.size()), args.begin());
  if (status != dnnl_success) throw dnnl::error(status, "could not execute a primitive");
}

dnnl_memory_t Binding::in(const void* data, void* buffer) {
  if (place_->same()) return inner_.at(data);
  execute(place_->to_inner_, {{DNNL_ARG_FROM, plain_.at(data)}, {DNNL_ARG_TO, inner_.at(buffer)}});
  return inner_.at(buffer);
}

void Binding::deliver(void* data, const void* buffer) {
  if (place_->same()) return;
  execute(place_->to_plain_, {{DNNL_ARG_FROM, inner_.at(buffer)}, {DNNL_ARG_TO, plain_.at(data)}});
}

}  // namespace loomix::ops::onednn
