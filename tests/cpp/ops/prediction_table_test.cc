// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "ops/families.h"
#include "ops/kernel_choice.h"
#include "ops/table.h"

// What libloomix_predict.so has of the operators.
namespace loomix::ops {
namespace {

bool same_kernels(const OpDef& a, const OpDef& b) {
  // Convolution by Fourier transforms is only there where somebody asks for it.
  const auto is_in_both = [](const Kernel& kernel) {
    return std::string(kernel.name) != "convolution_fft" &&
           std::string(kernel.name) != "convolution_other_than_fft";
  };
  return std::ranges::equal(
      a.kernels | std::views::filter(is_in_both), b.kernels | std::views::filter(is_in_both),
      [](const Kernel& one, const Kernel& other) {
        return std::string(one.name) == other.name && one.run == other.run && one.prepare == other.prepare;
      });
}

TEST(PredictionTable, LacksOptimizersAndKernelsOfGradientsAlone) {
  OpTable table, optimizers, for_others;
  register_for_prediction(table);
  refuse_gradients(table);
  table.validate();
  register_optimizer(optimizers);
  register_for_prediction(for_others);
  register_blocked_training(for_others);
  register_blocked_conv_gradients(for_others);
  register_blocked_lrn_gradient(for_others);
  register_closed_products(for_others);
  register_closed_convolution(for_others);
  int complete = 0, refused = 0, missing = 0;
  for (const OpDef& op : builtin_table().all()) {
    const OpDef* const own = table.find(op.name);
    if (!own) {
      // What only a training graph in blocks of channels, or a graph on a GPU, is made of.
      const bool is_for_others = op.hidden && for_others.find(op.name);
      EXPECT_TRUE(optimizers.find(op.name) || is_for_others) << op.name << " is not there";
      missing += is_for_others ? 0 : 1;
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

// Convolutions that ask for what is not there run as if they asked for nothing.
TEST(PredictionTable, FftIsComputedOtherwise) {
  OpTable table;
  register_for_prediction(table);
  const OpDef& op = table.at("Convolution");
  const auto attrs =
      table.parse(op, {{"kernel", "(3, 3)"}, {"num_filter", "2"}, {"algorithm", "fft"}, {"no_bias", "True"}});
  const TensorView in[] = {{nullptr, DType::float32, Shape{1, 2, 8, 8}},
                           {nullptr, DType::float32, Shape{2, 2, 3, 3}}};
  const TensorView out[] = {{nullptr, DType::float32, Shape{1, 2, 6, 6}}};
  const Req req = Req::write;
  const KernelChoice choice = prepare_kernel(op, *attrs, {in, out, {&req, 1}}, {});
  EXPECT_STREQ(choice.kernel->name, "convolution_other_than_fft");
  std::vector<float> image(128), weight(36, 1.0F), result(72);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 64);
  TensorView given[] = {in[0], in[1]}, made[] = {out[0]};
  given[0].data = image.data();
  given[1].data = weight.data();
  made[0].data = result.data();
  std::vector<std::byte> scratch(choice.scratch_bytes + 64);
  void* start = scratch.data();
  size_t room = scratch.size();
  engine::RunContext context;
  KernelArgs args{.in = given, .out = made, .saved = {}, .req = {&req, 1}, .scratch = {}, .random = {}};
  args.scratch = {static_cast<std::byte*>(std::align(64, choice.scratch_bytes, start, room)),
                  choice.scratch_bytes};
  args.state = choice.state.get();
  args.context = &context;
  choice.kernel->run(*attrs, args);
  EXPECT_EQ(result[0], 2 * 9 * 9);  // two channels of nine values around 9
}

}  // namespace
}  // namespace loomix::ops
