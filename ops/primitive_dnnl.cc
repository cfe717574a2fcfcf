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

dnnl::memory Place::in(const float* data, float* buffer) const {
  dnnl::memory from = memory(plain_, data);
  if (same()) return from;
  dnnl::memory to = memory(inner_, buffer);
  to_inner_.execute(stream(), from, to);
  return to;
}

dnnl::memory Place::out(float* data, float* buffer) const { return memory(inner_, same() ? data : buffer); }

void Place::deliver(float* data, const float* buffer) const {
  if (same()) return;
  dnnl::memory from = memory(inner_, buffer), to = memory(plain_, data);
  to_plain_.execute(stream(), from, to);
}

}  // namespace loomix::ops::onednn
