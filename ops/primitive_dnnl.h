// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "base/error.h"
#include "engine/omp_threads.h"
#include "engine/parallel_for.h"

// What the files *_dnnl.cc share, and nobody else includes. Every primitive is made for one thread and runs on one:
// kernels cut their work into parts by its shape alone and give those to the cores, so that a result does not depend on
// how many there are.
namespace loomix::ops::onednn {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
inline constexpr auto kFloat = dnnl::memory::data_type::f32;

const dnnl::engine& cpu();
dnnl::stream& stream();  // of the calling thread

inline dnnl::memory memory(const Desc& desc, const float* data) {
  return {desc, cpu(), const_cast<float*>(data)};
}
inline int64_t floats(const Desc& desc) {  // whole cache lines
  return static_cast<int64_t>((desc.get_size() + 63) / 64 * 16);
}

dnnl::primitive_attr attributes();  // scratchpads are the caller's

// Descriptions of primitives; oneDNN 2 has the operation's own description in between.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe(const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), args..., attributes()};
#else
  return {typename Primitive::desc(args...), attributes(), cpu()};
#endif
}
template <class Primitive, class Forward, class... Args>
typename Primitive::primitive_desc describe_backward(const Forward& forward, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), args..., forward, attributes()};
#else
  return {typename Primitive::desc(args...), attributes(), cpu(), forward};
#endif
}

// A tensor as the user has it and as a primitive wants it.
class Place {
 public:
  Place() = default;
  Place(const Desc& plain, const Desc& inner);

  bool same() const { return plain_ == inner_; }
  const Desc& plain() const { return plain_; }
  const Desc& inner() const { return inner_; }
  int64_t buffer() const { return same() ? 0 : floats(inner_); }  // floats that in and out need
  // The data in the inner layout: itself, or copied into the buffer.
  dnnl::memory in(const float* data, float* buffer) const;
  // Where a primitive shall write; `deliver` brings it to `data`.
  dnnl::memory out(float* data, float* buffer) const;
  void deliver(float* data, const float* buffer) const;

 private:
  Desc plain_, inner_;
  dnnl::reorder to_inner_, to_plain_;
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

// While it lives, primitives are made for one thread and run on one.
class OneThread {
 public:
  explicit OneThread(const engine::RunContext& context) : cores_(context.cores) {
    engine::set_omp_threads(1);
  }
  ~OneThread() { engine::set_omp_threads(cores_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int cores_;
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

// Compiled primitives by what they are for. At most `capacity` are kept; the one that was not asked for longest goes.
template <class Plan>
class PlanCache {
 public:
  using Key = std::vector<int64_t>;

  explicit PlanCache(size_t capacity) : capacity_(capacity) {}

  // make() runs without the lock; of two threads that make the same plan, the first one's is kept.
  template <class Make>
  std::shared_ptr<const Plan> get(const Key& key, Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = plans_.find(key);
      if (found != plans_.end()) {
        found->second.last_use = ++clock_;
        return found->second.plan;
      }
    }
    auto plan = std::make_shared<const Plan>(make());
    const std::lock_guard lock(mutex_);
    if (plans_.size() >= capacity_) {
      auto oldest = plans_.begin();
      for (auto i = plans_.begin(); i != plans_.end(); ++i) {
        if (i->second.last_use < oldest->second.last_use) oldest = i;
      }
      plans_.erase(oldest);
    }
    return plans_.try_emplace(key, Entry{std::move(plan), ++clock_}).first->second.plan;
  }

 private:
  struct Entry {
    std::shared_ptr<const Plan> plan;
    uint64_t last_use;
  };
  const size_t capacity_;
  std::mutex mutex_;  // guards what follows
  std::map<Key, Entry> plans_;
  uint64_t clock_ = 0;
};

}  // namespace loomix::ops::onednn
