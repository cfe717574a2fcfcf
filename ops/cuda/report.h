// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/device/device_runtime.h"
#include "ops/cuda/stream.h"
#include "ops/table.h"

// What the host has to know of a device's work: that the input is at fault, or how large a result is. A kernel writes it to a pinned
// word; when the device is done, the host reads it and ends the task, or goes on with it. No thread waits meanwhile.
namespace loomix::cuda {

// A pinned word of the host's that device code writes to; zero when it is given. Words are kept and given again.
class HostWord {
 public:
  HostWord();
  HostWord(HostWord&& other) noexcept : word_(std::exchange(other.word_, nullptr)) {}
  ~HostWord();
  HostWord(const HostWord&) = delete;
  HostWord& operator=(const HostWord&) = delete;
  HostWord& operator=(HostWord&&) = delete;
  int64_t* on_device() const { return word_; }
  int64_t value() const { return *static_cast<volatile const int64_t*>(word_); }  // once the device is done

 private:
  int64_t* word_;
};

// Calls next(the device's error) when all that is on the queue now is done. `on_own_thread`: on a thread that may allocate and put
// more work on the queue; else on one of the queue's, which must not wait.
using Next = std::function<void(std::exception_ptr)>;
void when_done(engine::DeviceQueue& queue, bool on_own_thread, Next next);

// For kernels whose further work depends on what the device finds. When all that is on the queue now is done, next(args) runs on a thread
// that may allocate and put more work there; the end of that completes the task. What it throws fails the task. `args`: the kernel's
// own, in a copy that lives as long.
void go_on_when_done(const ops::KernelArgs& args, engine::Completion completion,
                     std::function<void(const ops::KernelArgs&)> next);

// An array's copy on the host, of a device that is done with it.
class HostCopy {
 public:
  explicit HostCopy(const TensorView& array);
  const TensorView& view() const { return view_; }

 private:
  std::vector<std::byte> bytes_;
  TensorView view_;
};

// Any thread of a kernel may call it.
__device__ inline void report(int64_t* fault) { *fault = 1; }

// For kernels that may find fault with their input: Run(p, args, fault) puts work on the stream, which may report(fault), and must not
// go where the fault leads. Explain(p, args) then looks at copies of the input on the host, and throws what the CPU's kernel throws.
// Either may do without the attributes.
template <auto Run, auto Explain, auto... Rules>
void add_checked(ops::KernelList& list, std::string_view op, const char* name);

// ---- how ------------------------------------------------------------------------------------------------------------------

template <class P, auto Run, auto Explain>
void run_checked(const AttrsBase& attrs, const ops::KernelArgs& args, engine::Completion completion) {
  if (ops::registration::is_idle(args)) return completion.done();
  const auto call = [&attrs]<class... A>(auto fn, const A&... given) {
    if constexpr (std::is_invocable_v<decltype(fn), const P&, const A&...>) fn(attrs.as<P>(), given...);
    else fn(given...);
  };
  const auto word = std::make_shared<HostWord>();
  call(Run, args, word->on_device());
  const auto end = std::make_shared<engine::Completion>(std::move(completion));
  when_done(*args.context->queue, false, [call, word, end, &args](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
      if (word->value() != 0) {
        call(Explain, args);
        LOOMIX_INTERNAL_CHECK(false);  // what the device refuses, the host does
      }
    } catch (...) {
      return end->fail(std::current_exception());
    }
    end->done();
  });
}

// Gives kernels on to `list` with another way to run.
class RunOtherwise final : public ops::KernelList {
 public:
  RunOtherwise(ops::KernelList& list, ops::AsyncKernelFn run) : list_(list), run_(run) {}
  void add_kernel(std::string_view op, const ops::Kernel& given) override {
    ops::Kernel kernel = given;
    kernel.run = nullptr;
    kernel.run_async = run_;
    list_.add_kernel(op, kernel);
  }

 private:
  ops::KernelList& list_;
  ops::AsyncKernelFn run_;
};

template <class P>
void not_run(const P&, const ops::KernelArgs&) {}

template <class P, auto... Rules>
void add_async(ops::KernelList& list, std::string_view op, const char* name, ops::AsyncKernelFn run) {
  RunOtherwise(list, run).template kernel<not_run<P>, Rules...>(op, name, DeviceType::gpu);
}

template <auto Run, auto Explain, auto... Rules>
void add_checked(ops::KernelList& list, std::string_view op, const char* name) {
  using P = typename ops::registration::KernelParams<decltype(Run)>::type;
  add_async<P, Rules...>(list, op, name, run_checked<P, Run, Explain>);
}

}  // namespace loomix::cuda
