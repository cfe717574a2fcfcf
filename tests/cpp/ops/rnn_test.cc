// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "op_runner.h"
#include "ops/rnn/rnn.h"

namespace loomix::ops::testing {
namespace {

struct Net {
  const char* mode;
  int64_t steps, batch, inputs;
  int hidden, layers;
  bool bidirectional = false;
  int projection = 0;
  bool lengths = false;
  double p = 0;

  TextPairs attrs() const {
    TextPairs texts{{"mode", mode},
                    {"state_size", std::to_string(hidden)},
                    {"num_layers", std::to_string(layers)},
                    {"bidirectional", bidirectional ? "True" : "False"},
                    {"state_outputs", "True"},
                    {"use_sequence_length", lengths ? "True" : "False"},
                    {"p", std::to_string(p)}};
    if (projection > 0) texts.emplace_back("projection_size", std::to_string(projection));
    return texts;
  }
};

Tensor random_tensor(const Shape& shape, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-0.2, 0.2);
  std::vector<double> values(static_cast<size_t>(shape.size()));
  for (double& value : values) value = uniform(random);
  return Tensor(shape, dtype, values);
}

// All inputs of a call; their shapes follow from the data's.
std::vector<Tensor> inputs_of(const Net& net, DType dtype) {
  const OpDef& op = builtin_table().at("RNN");
  const auto attrs = builtin_table().parse(op, net.attrs());
  std::vector<Shape> in(static_cast<size_t>(op.count_inputs(*attrs)), Shape::unknown());
  std::vector<Shape> out(static_cast<size_t>(op.count_outputs(*attrs)), Shape::unknown());
  in[0] = Shape{net.steps, net.batch, net.inputs};
  ShapeInfer rule(op, in, out);
  op.infer_shape(*attrs, rule);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < in.size(); ++i)
    tensors.push_back(random_tensor(in[i], dtype, static_cast<unsigned>(i + 1)));
  if (net.lengths) {
    std::vector<double> lengths(static_cast<size_t>(net.batch));
    for (size_t n = 0; n < lengths.size(); ++n)
      lengths[n] = static_cast<double>(n % static_cast<size_t>(net.steps + 1));
    tensors.back() = Tensor(in.back(), DType::int32, lengths);
  }
  return tensors;
}

struct Step {
  RunResult forward;
  std::vector<Tensor> gradients;
};

// Forward and backward in training.
Step train(const Net& net, DType dtype, int cores) {
  std::vector<Tensor> inputs = inputs_of(net, dtype);
  RunOptions options;
  options.training = true;
  options.saved = true;
  options.cores = cores;
  Step step{run_op("RNN", inputs, net.attrs(), options), {}};
  std::vector<Tensor> more = inputs;
  more.push_back(step.forward.out[0]);
  for (const Tensor& saved : step.forward.saved) more.push_back(saved);
  for (size_t i = 0; i < step.forward.out.size(); ++i)
    more.push_back(random_tensor(step.forward.out[i].shape, dtype, static_cast<unsigned>(i + 20)));
  options.saved = false;
  step.gradients = run_op("_backward_RNN", more, net.attrs(), options).out;
  return step;
}

const Net kNets[] = {
    {"lstm", 7, 20, 30, 70, 2, false},
    {"lstm", 5, 13, 9, 33, 2, true, 17, true, 0.4},
    {"gru", 6, 11, 20, 64, 2, true, 0, true, 0.3},
    {"gru", 3, 50, 4, 5, 1, false, 0, false, 0},
    {"rnn_tanh", 4, 9, 12, 130, 3, true, 0, false, 0.5},
    {"rnn_relu", 4, 9, 12, 20, 1, false, 0, true, 0},
    {"lstm", 3, 16, 20, 300, 1, true, 0, false, 0},  // a weight that is read for many rows at once
};

class Rnn : public ::testing::TestWithParam<Net> {};

TEST_P(Rnn, DoesNotDependOnTheNumberOfCores) {
  const Step alone = train(GetParam(), DType::float32, 1);
  for (const int cores : {2, 3, 5}) {
    const Step team = train(GetParam(), DType::float32, cores);
    for (size_t i = 0; i < alone.forward.out.size(); ++i)
      EXPECT_EQ(alone.forward.out[i].bytes, team.forward.out[i].bytes) << cores << " cores, output " << i;
    for (size_t i = 0; i < alone.gradients.size(); ++i)
      EXPECT_EQ(alone.gradients[i].bytes, team.gradients[i].bytes) << cores << " cores, gradient " << i;
  }
}

TEST_P(Rnn, TypesAgree) {
  const Step want = train(GetParam(), DType::float64, 1);
  const auto close = [&](const Tensor& got, const Tensor& exact, double tolerance, const std::string& what) {
    const std::vector<double> a = got.values(), b = exact.values();
    ASSERT_EQ(a.size(), b.size());
    double scale = 1;
    for (const double x : b) scale = std::max(scale, std::abs(x));
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance * scale) << what << " at " << i;
  };
  const std::pair<DType, double> runs[] = {
      {DType::float32, 1e-4}, {DType::float16, 2e-2}, {DType::bfloat16, 1.5e-1}};
  for (const auto& [dtype, tolerance] : runs) {
    const Step got = train(GetParam(), dtype, 2);
    const std::string what(name_of(dtype));
    for (size_t i = 0; i < want.forward.out.size(); ++i)
      close(got.forward.out[i], want.forward.out[i], tolerance, what + " output " + std::to_string(i));
    for (size_t i = 0; i < want.gradients.size(); ++i)
      close(got.gradients[i], want.gradients[i], tolerance, what + " gradient " + std::to_string(i));
  }
}

// Whether values are kept for the gradient or not, and whether outputs are wanted or not.
TEST_P(Rnn, GivesTheSameWithoutWhatTheGradientNeeds) {
  std::vector<Tensor> inputs = inputs_of(GetParam(), DType::float32);
  RunOptions options;
  options.training = true;
  const RunResult without = run_op("RNN", inputs, GetParam().attrs(), options);
  options.saved = true;
  const RunResult with = run_op("RNN", inputs, GetParam().attrs(), options);
  for (size_t i = 0; i < with.out.size(); ++i) EXPECT_EQ(with.out[i].bytes, without.out[i].bytes);
}

INSTANTIATE_TEST_SUITE_P(Nets, Rnn, ::testing::ValuesIn(kNets));

TEST(RnnDropout, DropsItsShareAndDependsOnTheStreamOnly) {
  const Net net{"lstm", 10, 20, 8, 50, 2, false, 0, false, 0.3};
  const Step one = train(net, DType::float32, 1), two = train(net, DType::float32, 3);
  const std::vector<double> marks = one.forward.saved[1].values();
  ASSERT_EQ(marks.size(), 10u * 20u * 50u);
  const auto dropped = std::count(marks.begin(), marks.end(), double{kDropped});
  EXPECT_EQ(dropped + std::count(marks.begin(), marks.end(), double{kScaled}),
            static_cast<int64_t>(marks.size()));
  EXPECT_NEAR(static_cast<double>(dropped), 3000, 150);
  EXPECT_EQ(one.forward.saved[1].bytes, two.forward.saved[1].bytes);

  std::vector<Tensor> inputs = inputs_of(net, DType::float32);
  RunOptions options;
  options.training = true;
  const RunResult first = run_op("RNN", inputs, net.attrs(), options);
  options.random.offset = 1'000'000;
  const RunResult other = run_op("RNN", inputs, net.attrs(), options);
  EXPECT_NE(first.out[0].bytes, other.out[0].bytes);
  options.training = false;
  Net whole = net;
  whole.p = 0;
  EXPECT_EQ(run_op("RNN", inputs, net.attrs(), options).out[0].bytes,
            run_op("RNN", inputs, whole.attrs(), options).out[0].bytes);
}

TEST(RnnLengths, OutsideOfTheStepsAreRefused) {
  const Net net{"gru", 3, 2, 2, 2, 1, false, 0, true, 0};
  for (const double bad : {-1.0, 4.0}) {
    std::vector<Tensor> inputs = inputs_of(net, DType::float32);
    inputs.back() = Tensor(Shape{2}, DType::int64, {1, bad});
    EXPECT_THROW(run_op("RNN", inputs, net.attrs()), ValueError);
  }
}

TEST(RnnCells, NaNIsStoppedOnlyOnDemand) {
  Net net{"lstm", 2, 1, 1, 1, 1};
  std::vector<Tensor> inputs = inputs_of(net, DType::float32);
  inputs[3] = Tensor(Shape{1, 1, 1}, DType::float32, {std::nan("")});
  TextPairs attrs = net.attrs();
  attrs.emplace_back("lstm_state_clip_min", "-0.5");
  attrs.emplace_back("lstm_state_clip_max", "0.5");
  EXPECT_TRUE(std::isnan(run_op("RNN", inputs, attrs).out[0].values()[0]));
  attrs.emplace_back("lstm_state_clip_nan", "True");
  const std::vector<double> values = run_op("RNN", inputs, attrs).out[0].values();
  EXPECT_FALSE(std::isnan(values[0]) || std::isnan(values[1]));
}

TEST(RnnShapes, InferenceRefuses) {
  const OpDef& op = builtin_table().at("RNN");
  const auto refuses = [&](TextPairs more, const std::vector<Shape>& given) {
    TextPairs texts{{"state_size", "2"}, {"num_layers", "1"}};
    for (auto& pair : more) texts.push_back(std::move(pair));
    const auto attrs = builtin_table().parse(op, texts);
    std::vector<Shape> in = given, out(static_cast<size_t>(op.count_outputs(*attrs)), Shape::unknown());
    in.resize(static_cast<size_t>(op.count_inputs(*attrs)), Shape::unknown());
    ShapeInfer rule(op, in, out);
    EXPECT_THROW(op.infer_shape(*attrs, rule), Error);
  };
  const Shape data{3, 4, 5};
  refuses({{"mode", "lstm"}}, {Shape{4, 5}});
  refuses({{"mode", "lstm"}}, {data, Shape{7}});
  refuses({{"mode", "lstm"}}, {data, Shape::unknown(), Shape{1, 5, 2}});
  refuses({{"mode", "gru"}, {"projection_size", "1"}}, {data});
  refuses({{"mode", "lstm"}, {"lstm_state_clip_min", "0"}}, {data});
  refuses({{"mode", "lstm"}, {"lstm_state_clip_min", "1"}, {"lstm_state_clip_max", "0"}}, {data});
  refuses({{"mode", "gru"}, {"lstm_state_clip_min", "0"}, {"lstm_state_clip_max", "1"}}, {data});
}

}  // namespace
}  // namespace loomix::ops::testing
