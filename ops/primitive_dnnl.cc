// SPDX-License-Identifier: Apache-2.0
#include "ops/primitive_dnnl.h"

#include <string_view>

#include "base/cpu_level.h"
#include "base/settings.h"
#include "ops/generated_code.h"

namespace loomix::ops::onednn {
namespace {

dnnl::cpu_isa instructions_of(CpuLevel level) {
  switch (level) {
    case CpuLevel::avx512_bf16: return dnnl::cpu_isa::avx512_core_bf16;
    case CpuLevel::avx512: return dnnl::cpu_isa::avx512_core;
    case CpuLevel::avx2: return dnnl::cpu_isa::avx2;
    default: return dnnl::cpu_isa::sse41;
  }
}

void bound_instructions() {
  if (settings().max_cpu_isa == "any") return;  // ONEDNN_MAX_CPU_ISA holds
  const dnnl::cpu_isa wanted = instructions_of(cpu_level());
  if (dnnl::set_max_cpu_isa(wanted) == dnnl::status::success) return;
  // It can be told only once, and another library of ours in this process may have done so.
  const auto taken = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  LOOMIX_CHECK((taken & ~static_cast<unsigned>(wanted)) == 0, Error,
               "[LOOMIX_MAX_CPU_ISA] oneDNN took its instructions before it could be told {}.",
               name_of(cpu_level()));
}

}  // namespace

bool is_on() {
  static const bool on = settings().dnnl && (bound_instructions(), true);
  return on;
}

bool has(dnnl::cpu_isa needed) {
  static const auto instructions = [] {
    is_on();
    return static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  }();
  return (instructions & static_cast<unsigned>(needed)) == static_cast<unsigned>(needed);
}

const dnnl::engine& cpu() {
  static const dnnl::engine* const engine =
      new dnnl::engine(dnnl::engine::kind::cpu, 0);  // outlives all tasks
  return *engine;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream stream(cpu());
  return stream;
}

bool multiplies_bfloat16() { return has(dnnl::cpu_isa::avx512_core_bf16); }

bool is_for_reference(const char* implementation) {
  const std::string_view name(implementation);
  return name.starts_with("ref") || name.starts_with("simple");
}

dnnl::reorder::primitive_desc describe_reorder(const Desc& from, const Desc& to,
                                               const dnnl::primitive_attr& attributes) {
  return without_reference(dnnl::reorder::primitive_desc(cpu(), from, cpu(), to, attributes));
}

bool Findings::get(const Question& question, const std::function<bool()>& find_out) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(question); known != known_.end()) return known->second;
  }
  const bool answer = find_out();  // which may be slow
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMost) known_.clear();
  known_.emplace(question, answer);
  return answer;
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Place::Place(const Desc& plain, const Desc& inner) : plain_(plain), inner_(inner) {
  if (same()) return;
  to_inner_ = dnnl::reorder(describe_reorder(plain, inner));
  to_plain_ = dnnl::reorder(describe_reorder(inner, plain));
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

namespace loomix::ops {

// oneDNN keeps the last 1024 primitives, whoever used them.
void release_generated_code() {
  if (!onednn::is_on()) return;
  const int capacity = dnnl::get_primitive_cache_capacity();
  dnnl::set_primitive_cache_capacity(0);
  dnnl::set_primitive_cache_capacity(capacity);
}

}  // namespace loomix::ops
