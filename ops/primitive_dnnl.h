// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "base/error.h"
#include "engine/omp_threads.h"
#include "engine/parallel_for.h"
#include "ops/kernel.h"

// What the files *_dnnl.cc share, and nobody else includes. Every primitive is made for one thread and runs on one:
// kernels cut their work into parts by its shape alone and give those to the cores, so that a result does not depend on
// how many there are.
namespace loomix::ops::onednn {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
inline constexpr auto kFloat = dnnl::memory::data_type::f32;

// Whether oneDNN's kernels may run. Asked before anything else of oneDNN is, for it brings it the bound of the setting
// max_cpu_isa.
bool is_on();
bool has(dnnl::cpu_isa needed);  // instructions that oneDNN uses here

const dnnl::engine& cpu();
dnnl::stream& stream();      // of the calling thread
bool multiplies_bfloat16();  // whether the processor does it itself

inline int64_t floats(const Desc& desc) {  // whole cache lines
  return static_cast<int64_t>((desc.get_size() + 63) / 64 * 16);
}

inline dnnl::memory::dims dims_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}
inline dnnl::memory::data_type type_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_data_type();
#else
  return desc.data_type();
#endif
}

dnnl::primitive_attr attributes();  // scratchpads are the caller's

// oneDNN answers where it has no kernel by loops for reference, which take up to a thousand times as long as ours. No
// primitive runs by these: the next implementation is taken, or the description fails as where there is none.
bool is_for_reference(const char* implementation);
template <class Description>
Description without_reference(Description description) {
  while (is_for_reference(description.impl_info_str())) {
    bool is_another = false;
    if constexpr (requires { description.next_impl(); }) is_another = description.next_impl();
    if (!is_another) throw dnnl::error(dnnl_unimplemented, "there are only loops for reference");
  }
  return description;
}

// Descriptions of primitives; oneDNN 2 has the operation's own description in between.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe_with(const dnnl::primitive_attr& attributes,
                                                 const Args&... args) {
  using Description = typename Primitive::primitive_desc;
#if DNNL_VERSION_MAJOR >= 3
  return without_reference(Description(cpu(), args..., attributes));
#else
  return without_reference(Description(typename Primitive::desc(args...), attributes, cpu()));
#endif
}
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe(const Args&... args) {
  return describe_with<Primitive>(attributes(), args...);
}
// Of a forward pass that does not run, but that its gradients are described by.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe_hint(const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), args..., attributes()};
#else
  return {typename Primitive::desc(args...), attributes(), cpu()};
#endif
}
template <class Primitive, class Forward, class... Args>
typename Primitive::primitive_desc describe_backward(const Forward& forward, const Args&... args) {
  using Description = typename Primitive::primitive_desc;
#if DNNL_VERSION_MAJOR >= 3
  return without_reference(Description(cpu(), args..., forward, attributes()));
#else
  return without_reference(Description(typename Primitive::desc(args...), attributes(), cpu(), forward));
#endif
}
// From one layout to another.
dnnl::reorder::primitive_desc describe_reorder(const Desc& from, const Desc& to,
                                               const dnnl::primitive_attr& attributes = {});

// Runs a primitive on the calling thread. The C interface, for oneDNN's C++ one makes a map of the arguments.
void execute(const dnnl::primitive& primitive, std::initializer_list<dnnl_exec_arg_t> args);

// A tensor as the user has it and as a primitive wants it.
class Place {
 public:
  Place() = default;
  Place(const Desc& plain, const Desc& inner);

  bool same() const { return plain_ == inner_; }
  const Desc& plain() const { return plain_; }
  const Desc& inner() const { return inner_; }
  int64_t buffer() const {
    return same() ? 0 : floats(inner_);
  }  // floats that in() and out() of a Binding need

 private:
  friend class Binding;
  Desc plain_, inner_;
  dnnl::reorder to_inner_, to_plain_;
};

// oneDNN's object for memory of one layout; made once, and pointed to other memory in each run.
class Pointer {
 public:
  explicit Pointer(const Desc& desc) : memory_(desc, cpu(), DNNL_MEMORY_NONE) {}
  dnnl_memory_t at(const void* data) {
    if (data_ != data) memory_.set_data_handle(const_cast<void*>(data));
    data_ = data;
    return memory_.get();
  }

 private:
  dnnl::memory memory_;
  const void* data_ = nullptr;
};

// One thread's hold on the tensor of a Place, which outlives it.
class Binding {
 public:
  explicit Binding(const Place& place) : place_(&place), plain_(place.plain()), inner_(place.inner()) {}
  // The data in the inner layout: itself, or copied into the buffer.
  dnnl_memory_t in(const void* data, void* buffer);
  // Where a primitive shall write; `deliver` brings it to `data`.
  dnnl_memory_t out(void* data, void* buffer) { return inner_.at(place_->same() ? data : buffer); }
  void deliver(void* data, const void* buffer);
  // Memory that is in the inner layout already.
  dnnl_memory_t inner(const void* data) { return inner_.at(data); }

 private:
  const Place* place_;
  Pointer plain_, inner_;
};

// Objects that a run needs for itself, handed from one run to the next: a steady run makes none. Takes no lock.
template <class T>
class Spares {
 public:
  Spares() = default;
  ~Spares() {
    for (auto& kept : kept_) delete kept.load(std::memory_order_relaxed);
  }
  template <class Make>
  std::unique_ptr<T> take(Make&& make) {
    for (auto& kept : kept_) {
      if (T* const spare = kept.exchange(nullptr, std::memory_order_acquire))
        return std::unique_ptr<T>(spare);
    }
    return make();
  }
  void give_back(std::unique_ptr<T> spare) {
    for (auto& kept : kept_) {
      T* nobody = nullptr;
      if (kept.compare_exchange_strong(nobody, spare.get(), std::memory_order_release,
                                       std::memory_order_relaxed)) {
        static_cast<void>(spare.release());
        return;
      }
    }
  }

 private:
  static constexpr size_t kKept = 8;  // runs of one state at the same time; more make and drop theirs
  std::atomic<T*> kept_[kKept] = {};
};

// Calls fn; an error of oneDNN becomes one of ours, with the operator's name.
template <class Fn>
void checked(const char* who, Fn&& fn) {
  try {
    fn();
  } catch (const dnnl::error& error) {
    detail::throw_error<Error>("[{}] oneDNN says '{}' (status {}).", who, error.message,
                               static_cast<int>(error.status));
  }
}

// What was found out about geometries, such as whether there is a primitive for one. Bounded: all is forgotten when it
// is full. Safe on several threads.
class Findings {
 public:
  using Question = std::vector<int64_t>;
  bool get(const Question& question, const std::function<bool()>& find_out);

 private:
  static constexpr size_t kMost = 4096;
  std::mutex mutex_;
  std::map<Question, bool> known_;
};

// While it lives, primitives are made for one thread and run on one.
class OneThread {
 public:
  OneThread() : OneThread(std::max(engine::omp_threads(), 1)) {}
  explicit OneThread(const engine::RunContext& context) : OneThread(context.threads) {}
  ~OneThread() { engine::set_omp_threads(after_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  explicit OneThread(int after) : after_(after) { engine::set_omp_threads(1); }
  const int after_;
};

// A state whose errors of oneDNN become ours.
template <class P, class State>
class Checked final : public KernelState {
 public:
  Checked(const P& p, const KernelSpec& spec) {
    const OneThread one_thread;
    checked(State::kOperator, [&] { state_ = make_ref<State>(p, spec); });
    scratch_bytes = state_->scratch_bytes;
  }
  void run(const P& p, const KernelArgs& args) const {
    checked(State::kOperator, [&] { state_->run(p, args); });
  }

 private:
  Ref<State> state_;
};

// Calls fn(i) for i in [0, count) on the task's cores; fn may throw.
template <class Fn>
void each_part(engine::RunContext& context, int64_t count, Fn&& fn) {
  std::mutex mutex;
  std::exception_ptr error;
  engine::parallel_for(context, count, 1, [&](int64_t begin, int64_t end) {
    try {
      for (int64_t i = begin; i < end; ++i) fn(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace loomix::ops::onednn
