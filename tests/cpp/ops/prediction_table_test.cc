// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "ops/families.h"
#include "ops/table.h"

// What libloomix_predict.so has of the operators.
namespace loomix::ops {
namespace {

bool same_kernels(const OpDef& a, const OpDef& b) {
  // Convolution by Fourier transforms is only there where somebody asks for it.
  const auto is_for_prediction = [](const Kernel& kernel) {
    return std::string(kernel.name) != "convolution_fft";
  };
  return std::ranges::equal(a.kernels, b.kernels | std::views::filter(is_for_prediction),
                            [](const Kernel& one, const Kernel& other) {
                              return std::string(one.name) == other.name && one.run == other.run &&
                                     one.prepare == other.prepare;
                            });
}

TEST(PredictionTable, LacksOptimizersAndKernelsOfGradientsAlone) {
  OpTable table, optimizers, in_blocks;
  register_for_prediction(table);
  refuse_gradients(table);
  table.validate();
  register_optimizer(optimizers);
  register_for_prediction(in_blocks);
  register_blocked_training(in_blocks);
  register_blocked_conv_gradients(in_blocks);
  register_blocked_lrn_gradient(in_blocks);
  int complete = 0, refused = 0, missing = 0;
  for (const OpDef& op : builtin_table().all()) {
    const OpDef* const own = table.find(op.name);
    if (!own) {
      // What only a training graph in blocks of channels is made of.
      const bool is_for_training = op.hidden && in_blocks.find(op.name);
      EXPECT_TRUE(optimizers.find(op.name) || is_for_training) << op.name << " is not there";
      missing += is_for_training ? 0 : 1;
    } else if (same_kernels(*own, op)) {
      ++complete;
    } else {
      EXPECT_TRUE(op.hidden) << op.name << " has other kernels than in the whole library";
      if (std::string(own->kernels.at(0).name) == "none") ++refused;
    }
  }
  EXPECT_GT(complete, 340);
  EXPECT_GT(refused, 80);
  EXPECT_EQ(missing, static_cast<int>(optimizers.all().size()));
}

TEST(PredictionTable, GradientsSayWhyTheyAreNotThere) {
  OpTable table;
  register_for_prediction(table);
  refuse_gradients(table);
  const OpDef& op = table.at("_backward_pad");
  const auto attrs = table.parse(op, op.params->example());
  try {
    op.kernels.at(0).run(*attrs, KernelArgs{});
    FAIL();
  } catch (const StateError& error) {
    EXPECT_NE(std::string(error.what()).find("no gradients"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace loomix::ops
