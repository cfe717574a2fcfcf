// SPDX-License-Identifier: Apache-2.0
// What kernels do in a run: no memory from the heap, no lock. Counted by putting this program's own
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
  DType dtype = DType::float32;   // of the inputs
  std::vector<DType> types = {};  // of outputs that have others
};

TextPairs conv(const char* filters) {
  return {{"kernel", "(3, 3)"}, {"num_filter", filters}, {"pad", "(1, 1)"}, {"no_bias", "True"}};
}

const Case kCases[] = {
    {"Convolution", "convolution_gemm", conv("16"), {{8, 8, 14, 14}, {16, 8, 3, 3}}, {{8, 16, 14, 14}}},
    {"Convolution",
     "convolution_cblas",
     conv("16"),
     {{8, 8, 14, 14}, {16, 8, 3, 3}},
     {{8, 16, 14, 14}},
     DType::float64},
    {"Convolution",
     "convolution_rearranged",
     conv("16"),
     {{8, 8, 14, 14}, {16, 8, 3, 3}},
     {{8, 16, 14, 14}},
     DType::float16},
    {"Convolution", "convolution_dnnl", conv("16"), {{8, 16, 14, 14}, {16, 16, 3, 3}}, {{8, 16, 14, 14}}},
    {"Convolution",
     "convolution_winograd_dnnl",
     conv("32"),
     {{32, 32, 14, 14}, {32, 32, 3, 3}},
     {{32, 32, 14, 14}}},
    {"_backward_Convolution_data",
     "convolution_dnnl",
     conv("16"),
     {{8, 16, 14, 14}, {16, 16, 3, 3}, {8, 16, 14, 14}},
     {{8, 16, 14, 14}}},
    {"_backward_Convolution_weight",
     "convolution_dnnl",
     conv("16"),
     {{8, 16, 14, 14}, {8, 16, 14, 14}, {16, 16, 3, 3}},
     {{16, 16, 3, 3}}},
    {"Deconvolution", "convolution_gemm", conv("3"), {{2, 5, 9, 9}, {5, 3, 3, 3}}, {{2, 3, 9, 9}}},
    {"_contrib_BilinearResize2D",
     "bilinear_resize_cpu",
     {{"height", "7"}, {"width", "5"}},
     {{2, 3, 4, 4}},
     {{2, 3, 7, 5}}},
    {"Correlation", "correlation_cpu", {}, {{1, 2, 5, 5}, {1, 2, 5, 5}}, {{1, 9, 3, 3}}},
    {"_contrib_ROIAlign",
     "roi_align_cpu",
     {{"pooled_size", "(2, 2)"}, {"spatial_scale", "1"}},
     {{1, 3, 5, 5}, {4, 5}},
     {{4, 3, 2, 2}}},
    {"_contrib_MultiBoxTarget",
     "multibox_target_cpu",
     {{"negative_mining_ratio", "3"}},
     {{1, 9, 4}, {2, 3, 5}, {2, 4, 9}},
     {{2, 36}, {2, 36}, {2, 9}}},
    {"_contrib_MultiBoxDetection",
     "multibox_detection_cpu",
     {},
     {{2, 3, 9}, {2, 36}, {1, 9, 4}},
     {{2, 9, 6}}},
    {"_contrib_MultiProposal",
     "multi_proposal_cpu",
     {{"rpn_post_nms_top_n", "5"}},
     {{2, 24, 2, 2}, {2, 48, 2, 2}, {2, 3}},
     {{10, 5}, {10, 1}}},
    {"Pooling",
     "pooling_dnnl",
     {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pool_type", "avg"}},
     {{4, 16, 16, 16}},
     {{4, 16, 8, 8}}},
    {"FullyConnected",
     "fully_connected_panels",
     {{"num_hidden", "128"}, {"no_bias", "True"}},
     {{64, 128}, {128, 128}},
     {{64, 128}}},
    {"sum", "reduce_cpu", {{"axis", "0"}}, {{300000, 2}}, {{2}}},
    {"moments", "moments_cpu", {{"axes", "(0, 1)"}}, {{600, 700}}, {{1}, {1}}},
    {"_backward_mean", "backward_mean_cpu", {{"axis", "1"}}, {{50}, {50, 30}}, {{50, 30}}},
    {"dot", "matmul_bfloat16_dnnl", {}, {{150, 300}, {300, 300}}, {{150, 300}}, DType::bfloat16},
    {"FullyConnected",
     "matmul_bfloat16_dnnl",
     {{"num_hidden", "7"}, {"no_bias", "True"}},
     {{5, 9}, {7, 9}},
     {{5, 7}},
     DType::bfloat16},
    {"Convolution",
     "convolution_bfloat16_dnnl",
     conv("16"),
     {{8, 16, 14, 14}, {16, 16, 3, 3}},
     {{8, 16, 14, 14}},
     DType::bfloat16},
    {"_backward_LayerNorm",
     "row_norm_backward_cpu",
     {},
     {{8, 700}, {8, 700}, {700}, {8, 1}, {8, 1}},
     {{8, 700}, {700}, {700}}},
    {"_backward_Convolution_data",
     "convolution_cpu",
     conv("4"),
     {{2, 4, 9, 9}, {4, 3, 3, 3}, {2, 3, 9, 9}},
     {{2, 3, 9, 9}}},
    {"_backward_Convolution_weight",
     "convolution_cpu",
     conv("4"),
     {{2, 4, 9, 9}, {2, 3, 9, 9}, {4, 3, 3, 3}},
     {{4, 3, 3, 3}}},
    {"_backward_LRN",
     "backward_lrn_cpu",
     {{"nsize", "4999"}},
     {{1, 5000, 1, 2}, {1, 5000, 1, 2}},
     {{1, 5000, 1, 2}}},
    {"transpose", "permute_cpu", {}, {{30, 40, 5}}, {{5, 40, 30}}},
    {"_backward_pad",
     "pad_cpu",
     {{"mode", "reflect"}, {"pad_width", "(0, 0, 2, 2)"}},
     {{3, 12}, {3, 8}},
     {{3, 8}}},
    {"sort",
     "sort_cpu",
     {},
     {{4, 300}},
     {{4, 300}, {4, 300}},
     DType::float32,
     {DType::float32, DType::int32}},
    {"topk", "topk_cpu", {{"k", "3"}}, {{4, 300}}, {{4, 3}}},
    {"_shuffle", "shuffle_cpu", {}, {{40, 3}}, {{40, 3}}},
    {"_sample_multinomial",
     "multinomial_cpu",
     {{"shape", "5"}},
     {{3, 8}},
     {{3, 5}},
     DType::float32,
     {DType::int32}},
    {"_histogram",
     "histogram_cpu",
     {{"bin_cnt", "4"}, {"range", "(0, 1)"}},
     {{100}},
     {{4}, {5}},
     DType::float32,
     {DType::int64, DType::float32}},
    {"Activation", "activation_cpu", {{"act_type", "tanh"}}, {{999}}, {{999}}, DType::float16},
    {"_backward_LeakyReLU",
     "leaky_relu_backward_cpu",
     {{"act_type", "prelu"}},
     {{2, 3, 300}, {2, 3, 300}, {3}},
     {{2, 3, 300}}},
    {"_backward_LeakyReLU_gamma",
     "leaky_relu_gamma_cpu",
     {{"act_type", "prelu"}},
     {{2, 3, 300}, {2, 3, 300}, {3}},
     {{3}}},
    {"RNN",
     "rnn_cpu",
     {{"mode", "gru"}, {"state_size", "32"}, {"num_layers", "2"}, {"bidirectional", "True"}, {"p", "0.5"}},
     {{5, 8, 16}, {28416}, {4, 8, 32}},
     {{5, 8, 64}}},
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
  for (const Shape& shape : c.inputs) tensors.emplace_back(shape, c.dtype);
  for (size_t i = 0; i < c.outputs.size(); ++i)
    tensors.emplace_back(c.outputs[i], c.types.empty() ? c.dtype : c.types[i]);
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

INSTANTIATE_TEST_SUITE_P(Kernels, SteadyRun, ::testing::ValuesIn(kCases), [](const auto& info) {
  return std::string(info.param.op) + "_" + info.param.kernel;
});

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
