// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "loomix/cpp.h"

namespace {

using namespace loomix::cpp;  // NOLINT: as its users write
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> values(const NDArray& array) {
  std::vector<float> result;
  array.SyncCopyToCPU(&result);
  return result;
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Symbol small_network() {
  const Symbol hidden =
      Activation("relu", FullyConnected("fc1", Symbol("data"), 16), ActivationActType::kRelu);
  return SoftmaxOutput("softmax", FullyConnected("fc2", hidden, 3));
}

TEST(CppSymbol, GeneratedFunctionsCompose) {
  const Symbol conv =
      Convolution("conv", Symbol("data"), Symbol("w"), Symbol("b"), Shape(3, 3), 8, Shape(2, 2));
  EXPECT_THAT(conv.ListArguments(), ElementsAre("data", "w", "b"));
  const auto attributes = conv.ListAttributes();
  EXPECT_EQ(attributes.at("kernel"), "(3,3)");
  EXPECT_EQ(attributes.at("stride"), "(2,2)");
  EXPECT_EQ(attributes.count("no_bias"), 0u);  // the default is not written
  EXPECT_THAT(Convolution("c", Symbol("data"), Symbol(), Symbol(), Shape(1, 1), 2).ListArguments(),
              ElementsAre("data", "c_weight", "c_bias"));
  EXPECT_EQ(LeakyReLU("act", conv, LeakyReLUActType::kElu, 0.5f).ListAttributes().at("act_type"), "elu");
  EXPECT_THAT(RNN("rnn", Symbol("x"), 8, 1, RNNMode::kLstm).ListArguments(),
              ElementsAre("x", "rnn_parameters", "rnn_state", "rnn_state_cell"));
  const Symbol parts = SliceChannel("parts", conv, 2);
  EXPECT_EQ(parts.GetNumOutputs(), 2u);
  EXPECT_THAT(parts[1].ListOutputs(), ElementsAre("parts_output1"));
  EXPECT_THAT(Concat({parts[0], parts[1]}, 2, 0).ListArguments(), ElementsAre("data", "w", "b"));
  EXPECT_EQ(Reshape(conv, Shape(-1, 0)).ListAttributes().at("shape"), "(-1,0)");
  EXPECT_EQ(contrib::box_nms("nms", conv).GetName(), "nms");
  EXPECT_NE(linalg::gemm2(Symbol("a"), Symbol("b")).GetName(), "");
}

TEST(CppSymbol, Arithmetic) {
  const Symbol a("a"), b("b");
  const Symbol sum = 2 - (a + b * 3.0f) / a;
  const std::map<std::string, NDArray> arguments{{"a", NDArray(std::vector<float>{1, 2})},
                                                 {"b", NDArray(std::vector<float>{1, 1})}};
  const std::unique_ptr<Executor> executor(sum.SimpleBind(Context::cpu(), arguments));
  executor->Forward(false);
  EXPECT_THAT(values(executor->outputs[0]), ElementsAre(-2, -0.5f));
  EXPECT_THAT(_Maximum(a, b).ListArguments(), ElementsAre("a", "b"));
}

TEST(CppSymbol, JsonFilesAndComposition) {
  const std::string path = (std::filesystem::temp_directory_path() / "loomix_cpp-symbol.json").string();
  small_network().Save(path);
  const Symbol loaded = Symbol::Load(path);
  std::filesystem::remove(path);
  EXPECT_EQ(loaded.ListArguments(), small_network().ListArguments());
  EXPECT_THAT(loaded.GetInternals()["fc1_output"].ListOutputs(), ElementsAre("fc1_output"));
  EXPECT_THAT(loaded.Compose({{"data", Symbol("other")}}).ListArguments()[0], "other");
  Symbol symbol = loaded.Copy();
  symbol.SetAttribute("lr_mult", "2");
  EXPECT_EQ(symbol.ListAttributes().at("lr_mult"), "2");
  EXPECT_EQ(loaded.ListAttributes().count("lr_mult"), 0u);
  EXPECT_THAT(message([] { Symbol::Load("/nonexistent.json"); }), HasSubstr("/nonexistent.json"));
  EXPECT_THAT(message([] { Symbol::LoadJSON("{"); }), HasSubstr("JSON"));
  EXPECT_THAT(message([&] { loaded["nothing"]; }), HasSubstr("nothing"));
}

TEST(CppSymbol, InfersShapes) {
  std::vector<std::vector<mx_uint>> in, aux, out;
  small_network().InferShape({{"data", {4, 5}}}, &in, &aux, &out);
  EXPECT_THAT(in[1], ElementsAre(16u, 5u));
  EXPECT_THAT(out[0], ElementsAre(4u, 3u));
  std::map<std::string, NDArray> arguments{{"data", NDArray(Shape(4, 5), Context::cpu())}};
  small_network().InferArgsMap(Context::cpu(), &arguments, arguments);
  EXPECT_THAT(arguments.at("fc2_weight").GetShape(), ElementsAre(3u, 16u));
}

// Each optimizer moves the argument of (x - 3)^2 towards 3.
class CppOptimizers : public ::testing::TestWithParam<const char*> {};

TEST_P(CppOptimizers, Minimize) {
  const std::unique_ptr<Optimizer> optimizer(OptimizerRegistry::Find(GetParam()));
  const bool slow = std::string(GetParam()) == "adadelta";
  optimizer->SetParam("lr", std::string(GetParam()) == "adagrad" ? 1.0f : 0.05f);
  if (slow) optimizer->SetParam("epsilon", 0.1f);
  NDArray x({0, 10}, Shape(2), Context::cpu());
  for (int step = 0; step < 400; ++step) optimizer->Update(0, x, (x - 3) * 2);
  for (const float value : values(x)) EXPECT_NEAR(value, 3, 0.2) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(All, CppOptimizers,
                         ::testing::Values("sgd", "ccsgd", "signum", "rmsprop", "adam", "adagrad",
                                           "adadelta"));

TEST(CppOptimizer, RatesScaleAndClip) {
  SGDOptimizer optimizer;
  optimizer.SetParam("lr", 0.5f)->SetParam("rescale_grad", 0.1f)->SetParam("clip_gradient", 1);
  NDArray x(std::vector<float>{0, 0});
  const NDArray gradient(std::vector<float>{5, 100});
  static_cast<Optimizer&>(optimizer).Update(0, x, gradient);
  EXPECT_THAT(values(x), ElementsAre(-0.25f, -0.5f));
  optimizer.SetLRScheduler(std::make_unique<FactorScheduler>(1, 0.1f));
  static_cast<Optimizer&>(optimizer).Update(0, x, gradient);
  EXPECT_NEAR(x.At(1), -0.55f, 1e-6);
  EXPECT_THAT(optimizer.Serialize(), HasSubstr("opt_type=sgd"));
  EXPECT_THAT(message([] { OptimizerRegistry::Find("sdg"); }), HasSubstr("sgd"));
}

TEST(CppKVStore, PushesAndUpdates) {
  Store store("local");
  store.Init("w", NDArray(std::vector<float>{1, 2}));
  auto optimizer = std::make_unique<SGDOptimizer>();
  optimizer->SetParam("lr", 1.0f);
  store.SetOptimizer(std::move(optimizer));
  const NDArray gradient(std::vector<float>{1, 1}), out(std::vector<float>{0, 0});
  store.Push("w", {gradient, gradient});
  store.Pull("w", {out});
  EXPECT_THAT(values(out), ElementsAre(-1, 0));
  auto broken = std::make_unique<SGDOptimizer>();
  broken->SetParam("lr", "fast");
  store.SetOptimizer(std::move(broken));
  EXPECT_THROW(store.Push("w", {gradient}), std::invalid_argument);  // the optimizer's own exception
  EXPECT_EQ(store.GetType(), "local");

  KVStore::SetType("device");
  KVStore::Init(std::vector<int>{3, 4}, {gradient, gradient});
  KVStore::Push(std::vector<int>{3, 4, 4}, {gradient, gradient, gradient});
  std::vector<NDArray> outs{NDArray(Shape(2), Context::cpu()), NDArray(Shape(2), Context::cpu())};
  KVStore::Pull(std::vector<int>{3, 4}, &outs);
  EXPECT_THAT(values(outs[1]), ElementsAre(2, 2));
  EXPECT_EQ(KVStore::GetRank(), 0);
  EXPECT_THAT(message([] { KVStore::SetType("local"); }), HasSubstr("exists"));
  KVStore::Close();
}

// Points of three classes around corners of a triangle.
class Points : public DataIter {
 public:
  explicit Points(int batches) : batches_(batches) {}
  void BeforeFirst() override { at_ = 0; }
  bool Next() override { return at_++ < batches_; }
  NDArray GetData() override {
    std::vector<float> data;
    for (int i = 0; i < kBatch; ++i) {
      const auto noise = static_cast<float>((i * 37 + at_ * 11) % 10) / 20;
      data.push_back((i % 3 == 1 ? 2.0f : 0.0f) + noise);
      data.push_back((i % 3 == 2 ? 2.0f : 0.0f) - noise);
    }
    return {data, Shape(kBatch, 2), Context::cpu()};
  }
  NDArray GetLabel() override {
    std::vector<float> label;
    for (int i = 0; i < kBatch; ++i) label.push_back(static_cast<float>(i % 3));
    return NDArray(label);
  }
  int GetPadNum() override { return at_ == batches_ ? 4 : 0; }
  std::vector<int> GetIndex() override { return std::vector<int>(kBatch, at_); }
  static constexpr int kBatch = 30;

 private:
  int batches_, at_ = 0;
};

TEST(CppModel, TrainsSavesAndPredicts) {
  Points train(10), validation(3);
  ModelConfig config(small_network());
  config.num_epoch = 6;
  float last = 0;
  config.epoch_end = [&](int, float, std::optional<float> accuracy) { last = accuracy.value(); };
  Model model(config);
  model.Fit(&train, &validation);
  EXPECT_GE(last, 0.98f);
  EXPECT_FLOAT_EQ(model.Score(&validation), last);
  const std::vector<float> predicted = model.Predict(&validation);
  EXPECT_EQ(predicted.size(), size_t{3 * Points::kBatch - 4} * 3);  // without what fills up the last batch

  const std::string prefix = (std::filesystem::temp_directory_path() / "loomix_cpp_model").string();
  model.Save(prefix, 6);
  Model loaded = Model::Load(prefix, 6);
  EXPECT_EQ(loaded.Predict(&validation), predicted);
  Predictor predictor(prefix + "-symbol.json", prefix + "-0006.params", {{"data", Shape(1, 2)}});
  const std::vector<float> scores = predictor.Predict("data", {2, 0});
  EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), 1);
  EXPECT_EQ(predictor.GetOutputShape(), Shape(1, 3));
  EXPECT_THAT(message([&] { predictor.SetInput("dat", {1, 2}); }), HasSubstr("dat"));
  EXPECT_THAT(message([&] { predictor.SetInput("data", {1, 2, 3}); }), HasSubstr("12 bytes"));
  EXPECT_THAT(message([&] { predictor.GetOutput(1); }), HasSubstr("output 1 of 1"));
  EXPECT_THAT(message([&] {
                Predictor(prefix + "-symbol.json", prefix + "-0006.params", {{"data", Shape(1, 3)}});
              }),
              HasSubstr("fc1_weight"));
  EXPECT_THAT(message([&] {
                Predictor(Symbol::Load(prefix + "-symbol.json"), {}, {{"data", Shape(1, 2)}});
              }),
              HasSubstr("have no 'fc1_weight'"));
  std::filesystem::remove(prefix + "-symbol.json");
  std::filesystem::remove(prefix + "-0006.params");
}

TEST(CppExecutor, ReshapesAndCopiesParameters) {
  const std::unique_ptr<Executor> executor(
      small_network().SimpleBind(Context::cpu(), {{"data", NDArray(Shape(4, 2), Context::cpu())}}));
  const NDArray weight({1, 2, 3}, Shape(3), Context::cpu());
  executor->CopyParamsFrom({{"fc2_bias", weight}, {"unknown", weight}});
  EXPECT_THAT(values(executor->arg_dict().at("fc2_bias")), ElementsAre(1, 2, 3));
  const std::unique_ptr<Executor> smaller(executor->Reshape({{"data", Shape(2, 2)}}));
  smaller->Forward(false);
  EXPECT_THAT(smaller->outputs[0].GetShape(), ElementsAre(2u, 3u));
  EXPECT_THAT(executor->DebugStr(), HasSubstr("fc1"));
  EXPECT_THAT(message([] { small_network().SimpleBind(Context::cpu(), {}); }), ::testing::Not("no error"));
}

TEST(CppMonitor, LooksAtEverySecondBatch) {
  const std::unique_ptr<Executor> executor(
      small_network().SimpleBind(Context::cpu(), {{"data", NDArray(Shape(4, 2), Context::cpu())}}));
  Monitor monitor(2, std::regex("fc.*"));
  monitor.install(executor.get());
  std::vector<size_t> counts;
  for (int batch = 0; batch < 3; ++batch) {
    monitor.tic();
    executor->Forward(false);
    counts.push_back(monitor.toc().size());
  }
  // fc1_output, fc2_output and four parameters.
  EXPECT_THAT(counts, ElementsAre(6u, 0u, 6u));
}

}  // namespace
