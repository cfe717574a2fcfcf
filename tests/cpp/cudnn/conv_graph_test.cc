// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/conv_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <vector>

// What the real cuDNN has for GPUs that are not here: it plans for a device that is only described. What it compiles for one itself
// needs a driver, so graphs by such engines alone count as missing here.
namespace loomix::cuda {
namespace {

using ops::ConvGeometry;
using ops::ConvolutionParams;
using ops::CudnnOptions;
using ops::Layout;

constexpr std::string_view kH100 =
    R"({"deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
    "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
    "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
    "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
    "supportCoopLaunch": 1, "totalGlobalMem": 85000000000, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
    "l2CacheSize": 52428800})";

class ConvGraphs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cudnnGetVersion() < 90800) GTEST_SKIP() << "this cuDNN plans for no device that is only described";
    device_.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                static_cast<int64_t>(kH100.size()), kH100.data());
    ASSERT_TRUE(device_.finalize());
  }
  ConvGraph graph(const ConvGeometry& g, DType dtype, const ConvEpilogue& epilogue) const {
    return {g, dtype, epilogue, {.described = &device_}};
  }
  // The first proposal that compiles; null where there is none.
  std::unique_ptr<CompiledGraph> first(const ConvGraph& graph, const CudnnOptions& options = kOptions) const {
    return graph.is_valid() ? graph.first(options) : nullptr;
  }

  static constexpr CudnnOptions kOptions{.workspace_bytes = size_t{1} << 30};
  static constexpr CudnnOptions kAllBits{.tf32 = false, .workspace_bytes = size_t{1} << 30};
  BackendDescriptor device_{CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR};
};

struct Layer {
  int64_t channels, pixels, filters, kernel, stride;
};
constexpr Layer kResNet50[] = {
    {3, 224, 64, 7, 2},    {64, 56, 64, 1, 1},   {64, 56, 64, 3, 1},    {64, 56, 256, 1, 1},
    {256, 56, 64, 1, 1},   {256, 56, 128, 1, 2}, {128, 28, 128, 3, 1},  {128, 28, 512, 1, 1},
    {512, 28, 128, 1, 1},  {512, 28, 256, 1, 2}, {256, 14, 256, 3, 1},  {256, 14, 1024, 1, 1},
    {1024, 14, 256, 1, 1}, {512, 7, 512, 3, 1},  {1024, 14, 512, 1, 2}, {512, 7, 2048, 1, 1},
    {2048, 7, 512, 1, 1},
};

ConvGeometry geometry(const Layer& layer, bool channels_last, int64_t groups = 1, int64_t dilate = 1) {
  ConvolutionParams p;
  p.kernel = {layer.kernel, layer.kernel};
  p.stride = {layer.stride, layer.stride};
  p.dilate = {dilate, dilate};
  p.pad = {dilate * (layer.kernel / 2), dilate * (layer.kernel / 2)};
  p.num_filter = layer.filters;
  p.num_group = groups;
  p.layout = channels_last ? Layout::NHWC : Layout::NCHW;
  return {p, channels_last ? Shape{64, layer.pixels, layer.pixels, layer.channels}
                           : Shape{64, layer.channels, layer.pixels, layer.pixels}};
}

constexpr ConvEpilogue kNone{}, kBias{.bias = true}, kRelu{.bias = true, .relu = true},
    kBlock{.bias = true, .residual = true, .relu = true};

TEST_F(ConvGraphs, OfResNet50AreThereInEachTypeAndOrder) {
  for (const Layer& layer : kResNet50) {
    for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
      for (const bool last : {false, true}) {
        for (const ConvEpilogue& epilogue : {kNone, kBias, kRelu, kBlock}) {
          const ConvGraph made = graph(geometry(layer, last), dtype, epilogue);
          const std::string name = fmt::format("{} to {}, kernel {}, {}{}", layer.channels, layer.filters,
                                               layer.kernel, name_of(dtype), last ? ", channels last" : "");
          EXPECT_TRUE(first(made)) << name;
          if (dtype == DType::float32) {
            EXPECT_TRUE(first(made, kAllBits)) << name << " without TF32";
          }
        }
      }
    }
  }
}

TEST_F(ConvGraphs, AreThereForGroupsDilationAndOtherNumbersOfAxes) {
  ConvolutionParams line, volume;
  line.kernel = {3};
  volume.kernel = {3, 3, 3};
  line.num_filter = volume.num_filter = 32;
  const ConvGeometry all[] = {geometry({64, 28, 64, 3, 1}, true, 64),
                              geometry({64, 28, 128, 3, 1}, false, 4),
                              geometry({64, 28, 64, 3, 1}, true, 1, 2),
                              geometry({5, 9, 7, 3, 2}, false),
                              {line, {8, 16, 100}},
                              {volume, {2, 16, 8, 20, 20}}};
  for (const ConvGeometry& g : all) {
    for (const DType dtype : {DType::float16, DType::float32}) {
      EXPECT_TRUE(first(graph(g, dtype, kBias)))
          << fmt::format("{} groups of {} to {}, {}", g.groups, g.channels, g.filters, name_of(dtype));
    }
  }
}

// So plan_conv_graph asks for none.
TEST_F(ConvGraphs, OfFloat64HaveNoEpilogue) {
  const ConvGeometry g = geometry({64, 28, 64, 3, 1}, false);
  EXPECT_TRUE(first(graph(g, DType::float64, kNone)));
  EXPECT_FALSE(first(graph(g, DType::float64, kBias)));
}

TEST_F(ConvGraphs, KeepFloat32sBitsWhereTheyMayNotBeLost) {
  for (const bool last : {false, true}) {
    const ConvGraph with_bias = graph(geometry({64, 56, 64, 3, 1}, last), DType::float32, kBias);
    EXPECT_TRUE(first(with_bias, kAllBits));
    const auto fast = with_bias.proposals(kOptions), exact = with_bias.proposals(kAllBits);
    EXPECT_LT(exact.size(), fast.size());
    // Whoever reads an engine's number from a file asks again.
    EXPECT_TRUE(with_bias.compile(fast.front(), kOptions));
    EXPECT_FALSE(with_bias.compile(fast.front(), kAllBits));
  }
}

TEST_F(ConvGraphs, FollowTheAlgorithmThatIsAskedFor) {
  const ConvGraph squares = graph(geometry({64, 56, 64, 3, 1}, false), DType::float32, kNone);
  CudnnOptions by_products = kAllBits, by_winograd = kAllBits;
  by_products.only = ops::ConvAlgorithm::gemm;
  by_winograd.only = ops::ConvAlgorithm::winograd;
  const auto products = squares.proposals(by_products);
  ASSERT_FALSE(products.empty());
  EXPECT_TRUE(squares.compile(products.front(), by_products));
  EXPECT_FALSE(squares.compile(products.front(), by_winograd));
  // Graphs by it are not there for this device: then the older interface is asked.
  for (const std::string& proposal : squares.proposals(by_winograd))
    EXPECT_FALSE(squares.compile(proposal, by_products));
}

TEST_F(ConvGraphs, UseNoMoreMemoryThanTheyMay) {
  const ConvGraph first_layer = graph(geometry(kResNet50[0], false), DType::float32, kBias);
  CudnnOptions little = kOptions;
  little.workspace_bytes = 0;
  const auto compiled = first(first_layer);
  ASSERT_TRUE(compiled);
  EXPECT_GT(compiled->workspace_bytes, 0u);
  EXPECT_FALSE(first_layer.compile(first_layer.proposals(kOptions).front(), little));
  ASSERT_TRUE(first(first_layer, little));
  EXPECT_EQ(first(first_layer, little)->workspace_bytes, 0u);
}

TEST_F(ConvGraphs, AreTimedOnceByAllProcesses) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / fmt::format("cudnn_{}.json", getpid());
  const ConvGraph some = graph(geometry({64, 28, 64, 3, 1}, true), DType::float16, kBias);
  std::vector<const CompiledGraph*> asked;
  const auto third_is_fastest = [&](const CompiledGraph& compiled) -> std::optional<float> {
    asked.push_back(&compiled);
    if (asked.size() == 1) return {};  // as one for which there is no memory
    return asked.size() == 3 ? 1.0f : 2.0f;
  };
  {
    TunedChoices choices(file, "test");
    ASSERT_TRUE(some.fastest(kOptions, choices, "some", third_is_fastest));
    EXPECT_EQ(asked.size(), 1u + ConvGraph::kMostTimed);
    EXPECT_EQ(choices.find("some"), some.proposals(kOptions)[2]);
  }
  const auto never = [](const CompiledGraph&) -> std::optional<float> {
    ADD_FAILURE() << "it was timed before";
    return {};
  };
  TunedChoices later(file, "test");
  EXPECT_TRUE(some.fastest(kOptions, later, "some", never));
  // An answer that does not hold is asked for again.
  later.add("some", "99999");
  asked.clear();
  EXPECT_TRUE(some.fastest(kOptions, later, "some", third_is_fastest));
  EXPECT_EQ(later.find("some"), some.proposals(kOptions)[2]);
  std::filesystem::remove(file);
}

TEST_F(ConvGraphs, ReadOnlyWhatIsAnAnswer) {
  const ConvGraph some = graph(geometry({64, 28, 64, 3, 1}, true), DType::float16, kBias);
  for (const char* text : {"", "x", "-1", "99999", "0 2 99999999", "0 9999 1"})
    EXPECT_FALSE(some.compile(text, kOptions)) << text;
}

}  // namespace
}  // namespace loomix::cuda
