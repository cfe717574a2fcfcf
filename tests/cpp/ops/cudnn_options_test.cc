// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/cudnn_options.h"

#include <gtest/gtest.h>

#include <limits>

namespace loomix::ops {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TEST(CudnnOptions, AlgorithmsAreTimedByDefaultWhereTheyFit) {
  ConvolutionParams p;
  CudnnOptions options = cudnn_options(p);
  EXPECT_TRUE(options.measure);
  EXPECT_EQ(options.workspace_bytes, 1024 * kMegabyte);
  EXPECT_FALSE(options.only);
  p.workspace = 10;
  EXPECT_EQ(cudnn_options(p).workspace_bytes, 10 * kMegabyte);
  p.workspace = 1 << 20;  // the setting bounds it
  EXPECT_EQ(cudnn_options(p).workspace_bytes, 1024 * kMegabyte);
}

TEST(CudnnOptions, AttributesDecide) {
  ConvolutionParams p;
  p.cudnn_tune = CudnnTune::off;
  EXPECT_FALSE(cudnn_options(p).measure);
  p.cudnn_tune = CudnnTune::fastest;
  EXPECT_TRUE(cudnn_options(p).measure);
  EXPECT_EQ(cudnn_options(p).workspace_bytes, std::numeric_limits<size_t>::max());
  p.algorithm = ConvAlgorithm::winograd;
  EXPECT_EQ(cudnn_options(p).only, ConvAlgorithm::winograd);
}

TEST(CudnnOptions, SettingsDecideWhereNoAttributeDoes) {
  ConvolutionParams p;
  Settings given;
  given.cuda_conv_tune = 0;
  EXPECT_FALSE(cudnn_options(p, given).measure);
  given.cuda_conv_tune = 2;
  EXPECT_EQ(cudnn_options(p, given).workspace_bytes, std::numeric_limits<size_t>::max());
  p.cudnn_tune = CudnnTune::limited_workspace;
  given.cuda_conv_workspace_mb = 3;
  EXPECT_EQ(cudnn_options(p, given).workspace_bytes, 3 * kMegabyte);
  given.enforce_determinism = true;
  EXPECT_FALSE(cudnn_options(p, given).measure);
}

}  // namespace
}  // namespace loomix::ops
