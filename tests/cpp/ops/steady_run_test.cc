// SPDX-License-Identifier: Apache-2.0
// What kernels with a prepared state do in a run: no memory from the heap, no lock. Counted by putting this program's own
// functions before the C library's; what oneDNN does inside of executing a primitive is its own and not counted.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "engine/team.h"
#include "op_runner.h"

namespace {

thread_local bool counting = false;
thread_local int allocations = 0, locks = 0;

template <class Fn>
Fn* next(const char* name) {
  return reinterpret_cast<Fn*>(dlsym(RTLD_NEXT, name));
}

// While it lives, nothing is counted on this thread.
struct Pause {
  const bool before = std::exchange(counting, false);
  ~Pause() { counting = before; }
};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LOOMIX_TEST_COUNTS 1

[[gnu::noinline]] void* operator new(size_t bytes) {
  allocations += counting;
  if (void* const memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
  allocations += counting;
  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<size_t>(alignment), bytes ? bytes : 1) == 0) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const real = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  locks += counting;
  return real(mutex);
}

extern "C" int dnnl_primitive_execute(const void* primitive, void* stream, int count, const void* args) {
  static auto* const real = next<int(const void*, void*, int, const void*)>("dnnl_primitive_execute");
  const Pause pause;
  return real(primitive, stream, count, args);
}
#endif

namespace loomix::ops {
namespace {

using testing::Tensor;

struct Case {
  const char* op;
  const char* kernel;
  TextPairs attrs;
  std::vector<Shape> inputs;
  std::vector<Shape> outputs;
};

TextPairs conv(const char* filters) {
  return {{"kernel", "(3, 3)"}, {"num_filter", filters}, {"pad", "(1, 1)"}, {"no_bias", "True"}};
}

const Case kCases[] = {
    {"Convolution", "convolution_gemm", conv("16"), {{8, 8, 14, 14}, {16, 8, 3, 3}}, {{8, 16, 14, 14}}},
    {"Convolution", "convolution_dnnl", conv("16"), {{8, 16, 14, 14}, {16, 16, 3, 3}}, {{8, 16, 14, 14}}},
    {"Convolution",
     "convolution_winograd_dnnl",
     conv("32"),
     {{32, 32, 14, 14}, {32, 32, 3, 3}},
     {{32, 32, 14, 14}}},
    {"_backward_Convolution_data",
     "convolution_data_dnnl",
     conv("16"),
     {{8, 16, 14, 14}, {16, 16, 3, 3}, {8, 16, 14, 14}},
     {{8, 16, 14, 14}}},
    {"_backward_Convolution_weight",
     "convolution_weight_dnnl",
     conv("16"),
     {{8, 16, 14, 14}, {8, 16, 14, 14}, {16, 16, 3, 3}},
     {{16, 16, 3, 3}}},
    {"Pooling",
     "pooling_dnnl",
     {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}},
     {{4, 16, 16, 16}},
     {{4, 16, 8, 8}}},
    {"FullyConnected",
     "fully_connected_panels",
     {{"num_hidden", "128"}, {"no_bias", "True"}},
     {{64, 128}, {128, 128}},
     {{64, 128}}},
};

class SteadyRun : public ::testing::TestWithParam<Case> {};

TEST_P(SteadyRun, TakesNoMemoryAndNoLock) {
#ifndef LOOMIX_TEST_COUNTS
  GTEST_SKIP() << "the sanitizer has allocation functions of its own";
#else
  const Case& c = GetParam();
  const OpDef& op = builtin_table().at(c.op);
  const auto attrs = builtin_table().parse(op, c.attrs);
  std::vector<Tensor> tensors;
  std::vector<TensorView> in, out;
  for (const Shape& shape : c.inputs) tensors.emplace_back(shape, DType::float32);
  for (const Shape& shape : c.outputs) tensors.emplace_back(shape, DType::float32);
  for (size_t i = 0; i < tensors.size(); ++i) (i < c.inputs.size() ? in : out).push_back(tensors[i].view());
  const std::vector<Req> req(out.size(), Req::write);
  const KernelSpec spec{in, out, req, true, 1};
  const Kernel* kernel = nullptr;
  for (const Kernel& candidate : op.kernels) {
    if (std::string_view(candidate.name) == c.kernel) kernel = &candidate;
  }
  if (!kernel) GTEST_SKIP() << "this build has no kernel " << c.kernel;
  if (kernel->support) {
    const Support support = kernel->support(*attrs, spec);
    if (!support) GTEST_SKIP() << c.kernel << " refuses on this machine: " << support.refusal;
  }
  Ref<const KernelState> state;
  if (kernel->prepare) state = kernel->prepare(op, *attrs, spec);
  const size_t bytes = state ? state->scratch_bytes : kernel->scratch ? kernel->scratch(*attrs, spec) : 0;
  auto* const scratch = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 64) / 64 * 64));
  engine::RunContext context;
  KernelArgs args;
  args.in = in;
  args.out = out;
  args.req = req;
  args.scratch = {scratch, bytes};
  args.state = state.get();
  args.training = true;
  args.context = &context;
  kernel->run(*attrs, args);  // the first run of a thread makes its stream, and the state's first objects
  allocations = locks = 0;
  counting = true;
  for (int i = 0; i < 10; ++i) kernel->run(*attrs, args);
  counting = false;
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(locks, 0);
  std::free(scratch);
#endif
}

INSTANTIATE_TEST_SUITE_P(Kernels, SteadyRun, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.kernel); });

// The counters count.
TEST(SteadyRunCounters, SeeAllocationsAndLocks) {
#ifndef LOOMIX_TEST_COUNTS
  GTEST_SKIP() << "the sanitizer has allocation functions of its own";
#else
  std::mutex mutex;
  allocations = locks = 0;
  counting = true;
  auto kept = std::make_unique<std::vector<int>>(100);
  mutex.lock();
  counting = false;
  mutex.unlock();
  EXPECT_EQ(allocations, 2);
  EXPECT_EQ(locks, 1);
#endif
}

}  // namespace
}  // namespace loomix::ops
