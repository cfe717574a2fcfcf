// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "loomix/nn.h"
#include "loomix/nn/loader.h"
#include "tests/cpp/cpp_api/nn_test.h"

namespace {

using namespace loomix::nn;  // NOLINT: as its users write
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

// Two classes by the sign of a sum.
struct Task {
  Task() {
    seed(5);
    x = normal({256, 4});
    y = x.sum(1) > 0;
  }
  Array x, y;
};

Sequential small_net() { return Sequential(Dense(8, {.activation = "relu"}), Dense(2)); }

struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / ("loomix_nn_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

TEST(NnTrainer, UpdatesAndSchedules) {
  Dense net(1, {.use_bias = false});
  net.initialize(Initializer::constant(1));
  const Array x = ones({2, 3});
  net(x);
  Trainer trainer(net, "sgd", {{"base_lr", 0.5}, {"lr_scheduler", "factor"}, {"step", 1}, {"factor", 0.5}});
  for (int i = 0; i < 2; ++i) {
    Array sum;
    {
      const Record record;
      sum = net(x).sum();
    }
    sum.backward();
    trainer.step(2);  // the gradient is 1 for each sample
  }
  EXPECT_THAT(net.parameter_at("weight")().to_vector(), ElementsAre(0.25, 0.25, 0.25));
  EXPECT_NEAR(clip_global_norm(net, 0.5).item(), std::sqrt(12), 1e-5);
  EXPECT_THAT(net.parameter_at("weight").grad().to_vector()[0],
              FloatNear(static_cast<float>(0.5 / std::sqrt(3)), 1e-5f));
  EXPECT_THAT(message([&] { Trainer(net, "newton"); }), HasSubstr("no optimizer 'newton'"));
  EXPECT_THAT(message([&] { Trainer(net, "sgd", {{"rate", 1}}); }), HasSubstr("rate"));
  EXPECT_THAT(message([&] { trainer.step(0); }), HasSubstr("0 samples"));
}

TEST(NnTrainer, AStoreGivesTheSame) {
  const Task task;
  Array results[2];
  for (const bool stored : {false, true}) {
    seed(1);
    Sequential net = small_net();
    net.initialize(Initializer::xavier());
    Trainer trainer(net, "sgd", {{"learning_rate", 0.1}, {"momentum", 0.9}},
                    {.store = stored ? "local" : nullptr});
    net(task.x);
    SoftmaxCrossEntropyLoss loss;
    for (int i = 0; i < 3; ++i) {
      Array l;
      {
        const Record record;
        l = loss(net(task.x), task.y);
      }
      l.backward();
      trainer.step(256);
    }
    results[stored] = net(task.x);
  }
  EXPECT_EQ((results[0] - results[1]).max().item(), 0);
}

TEST(NnModel, HalfTypes) {
  const Task task;
  for (const DType type : {DType::float16, DType::bfloat16}) {
    seed(1);
    Model model(
        Sequential(Dense(8, {.activation = "relu"}), BatchNorm(), Dense(2)),
        {.optimizer = "adam", .settings = {{"learning_rate", 0.02}}, .clip_norm = 10, .precision = type});
    const History history = model.fit(task.x, task.y, {.epochs = 8, .batch = 50, .verbose = false});
    EXPECT_GT(history.back().metric, 0.93);
    EXPECT_EQ(model.net().parameter_at("0.weight").dtype(), type);
    EXPECT_EQ(model.net().parameter_at("1.gamma").dtype(), DType::float32);
    EXPECT_EQ(model.predict(task.x).dtype(), DType::float32);
    // A sample's gradient may be 1, and float16 ends below the first scale.
    const double scale = model.trainer().loss_scale();
    if (type == DType::float16) EXPECT_TRUE(scale >= 64 && scale < 65536) << scale;
    else EXPECT_EQ(scale, 1);
  }
  EXPECT_THAT(message([] { Model(small_net(), {.precision = DType::float64}); }), HasSubstr("float64"));
}

TEST(NnTrainer, StepsThatOverflowAreLeftOut) {
  Dense net(1, {.use_bias = false});
  net.initialize(Initializer::constant(1));
  net(ones({1, 2}));
  Trainer trainer(net, "sgd", {{"learning_rate", 1}}, {.scale_loss = true});
  Parameter& weight = net.parameter_at("weight");
  EXPECT_EQ(trainer.scaled(Array{2}).item(), 2 * 65536);
  weight.grad().assign(Array{1, INFINITY});
  trainer.step(1);
  EXPECT_THAT(weight.data().to_vector(), ElementsAre(1, 1));
  EXPECT_EQ(trainer.loss_scale(), 32768);
  weight.grad().assign(Array{32768, 0});
  trainer.step(1);
  EXPECT_THAT(weight.data().to_vector(), ElementsAre(0, 1));
}

TEST(NnModel, BatchesGrow) {
  const Task task;
  struct Counting : ArrayLoader {
    using ArrayLoader::ArrayLoader;
    bool next(Batch& batch) override {
      const bool more = ArrayLoader::next(batch);
      count += more;
      return more;
    }
    int count = 0;
  } loader(task.x, task.y, {.batch = 256});
  Model model(small_net(), {.settings = {{"learning_rate", 0.1}}});
  model.fit(loader, {.epochs = 3, .verbose = false, .batches = {{1, 32}, {3, 128}}});
  EXPECT_EQ(loader.count, 8 + 8 + 2);
  // The rate follows: a step of the same gradient is four times as long.
  Parameter& bias = model.net().parameter_at("1.bias");
  const double before = bias.data()(0).item();
  for (const auto& [name, parameter] : model.net().parameters()) parameter->grad().fill(0);
  bias.grad().fill(1);
  model.trainer().step(1);
  EXPECT_NEAR(before - bias.data()(0).item(), 0.4, 1e-5);
  EXPECT_THAT(message([&] { model.fit(loader, {.batches = {{2, 32}}}); }), HasSubstr("1 first"));
}

TEST(NnMetric, Values) {
  const Array scores = Array{0.1f, 0.9f, 0.8f, 0.2f, 0.7f, 0.3f}.reshape({3, 2}), labels{1, 0, 1};
  const auto value = [&](Metric&& metric) {
    metric.update(labels, scores);
    return metric.get();
  };
  EXPECT_NEAR(value(Accuracy()), 2.0 / 3, 1e-6);
  EXPECT_NEAR(value(TopKAccuracy(2)), 1, 1e-6);
  EXPECT_NEAR(value(F1()), 2.0 / 3, 1e-6);
  EXPECT_NEAR(value(CrossEntropy()), -(std::log(0.9) + std::log(0.8) + std::log(0.3)) / 3, 1e-5);
  EXPECT_NEAR(value(Perplexity()), std::exp(-(std::log(0.9) + std::log(0.8) + std::log(0.3)) / 3), 1e-5);
  MeanSquaredError mse;
  mse.update(Array{1, 2}, Array{2, 4});
  EXPECT_EQ(mse.get(), 2.5);
  mse.reset();
  EXPECT_TRUE(std::isnan(mse.get()));
}

TEST(NnModel, LearnsAndStopsEarly) {
  const Task task;
  Model model(small_net(), {.optimizer = "adam", .settings = {{"learning_rate", 0.02}}, .clip_norm = 10});
  ArrayLoader validation(task.x, task.y, {.batch = 100});
  const History history =
      model.fit(task.x, task.y, {.epochs = 8, .batch = 50, .validation = &validation, .verbose = false});
  ASSERT_EQ(history.size(), 8u);
  EXPECT_LT(history.back().loss, history[0].loss);
  EXPECT_GT(history.back().validation_metric, 0.95);
  EXPECT_EQ(model.evaluate(task.x, task.y).metric, history.back().validation_metric);
  EXPECT_EQ(model.predict(validation).shape(), (Shape{256, 2}));
  EarlyStopping stopping(1, 100);  // no improvement is that large
  EXPECT_EQ(model.fit(task.x, task.y, {.epochs = 8, .callbacks = {&stopping}, .verbose = false}).size(), 2u);
}

TEST(NnModel, ResumesAsIfItHadNotStopped) {
  const Task task;
  const Folder folder;
  const auto train = [&](int64_t epochs, const std::string& checkpoint) {
    seed(1);
    Model model(small_net(), {.settings = {{"learning_rate", 0.1}, {"momentum", 0.9}}});
    ArrayLoader loader(task.x, task.y, {.batch = 64});
    const History history = model.fit(
        loader,
        {.epochs = epochs, .verbose = false, .checkpoint = checkpoint, .resume = !checkpoint.empty()});
    return std::pair(history.size(), model.predict(task.x));
  };
  const auto whole = train(4, "");
  const std::string prefix = folder.path / "run";
  EXPECT_EQ(train(2, prefix).first, 2u);
  const auto rest = train(4, prefix);
  EXPECT_EQ(rest.first, 2u);
  EXPECT_EQ((rest.second - whole.second).max().item(), 0);
}

TEST(NnModel, AccumulatedGradientsAreThoseOfALargeBatch) {
  const Task task;
  Array results[2];
  for (const bool parts : {false, true}) {
    seed(1);
    Model model(small_net(), {.settings = {{"learning_rate", 0.1}}});
    ArrayLoader loader(task.x, task.y, {.batch = parts ? 32 : 128});
    model.fit(loader, {.epochs = 2, .verbose = false, .accumulate = parts ? 4 : 1});
    results[parts] = model.predict(task.x);
  }
  EXPECT_LT(op::max(op::abs(results[0] - results[1])).item(), 1e-5);
}

struct Numbers : Dataset {
  int64_t size() const override { return 10; }
  Shape shape() const override { return {2}; }
  float get(int64_t index, std::span<float> sample) const override {
    if (index == broken) throw Error("sample " + std::to_string(index) + " is broken");
    sample[0] = static_cast<float>(index);
    sample[1] = static_cast<float>(-index);
    return static_cast<float>(index * index);
  }
  int64_t broken = -1;
};

TEST(NnLoader, ThreadsKeepTheOrder) {
  DataLoader loader(std::make_shared<Numbers>(), {.batch = 4, .workers = 3, .prefetch = 2});
  EXPECT_EQ(loader.batches(), 3);
  for (int pass = 0; pass < 20; ++pass) {
    std::vector<float> labels, firsts;
    for (Batch batch; loader.next(batch);) {
      for (const float label : batch.label.to_vector()) labels.push_back(label);
      firsts.push_back(batch.data.to_vector()[0]);
      if (pass % 3 == 1) break;  // leaves the pass in the middle
    }
    if (pass % 3 != 1) {
      EXPECT_THAT(labels, ElementsAre(0, 1, 4, 9, 16, 25, 36, 49, 64, 81));
      EXPECT_THAT(firsts, ElementsAre(0, 4, 8));
    }
    loader.reset();
  }
  DataLoader mixed(std::make_shared<Numbers>(), {.batch = 5, .shuffle = true, .drop_last = true});
  Batch batch;
  float sum = 0;
  while (mixed.next(batch)) sum += static_cast<float>(batch.data(all, 0).get().sum().item());
  EXPECT_EQ(sum, 45);
}

TEST(NnLoader, SizesOfBatchesChange) {
  DataLoader loader(std::make_shared<Numbers>(), {.batch = 2});
  Batch batch;
  loader.next(batch);
  loader.set_batch(4);
  EXPECT_EQ(loader.batches(), 3);
  std::vector<int64_t> sizes;
  while (loader.next(batch)) sizes.push_back(batch.size());
  EXPECT_THAT(sizes, ElementsAre(4, 4, 2));
  EXPECT_THAT(message([&] { loader.set_batch(0); }), HasSubstr("expected 1 or more"));
}

TEST(NnLoader, ErrorsOfADataSetArriveInTheirPlace) {
  auto numbers = std::make_shared<Numbers>();
  numbers->broken = 5;
  DataLoader loader(numbers, {.batch = 4});
  Batch batch;
  EXPECT_TRUE(loader.next(batch));
  EXPECT_EQ(message([&] { loader.next(batch); }), "sample 5 is broken");
  EXPECT_TRUE(loader.next(batch));
  EXPECT_FALSE(loader.next(batch));
  EXPECT_THAT(message([&] { DataLoader(numbers, {.workers = 0}); }), HasSubstr("expected 1 or more"));
}

TEST(NnLoader, CifarFilesAndCsv) {
  const Folder folder;
  const std::string path = folder.path / "batch.bin", rows = folder.path / "rows.csv",
                    labels = folder.path / "labels.csv";
  {
    std::ofstream file(path, std::ios::binary);
    for (const char label : {7, 3}) file << label << std::string(3072, static_cast<char>(51 * (label - 2)));
    std::ofstream(rows) << "1,2\n3,4\n5,6\n";
    std::ofstream(labels) << "1\n0\n1\n";
  }
  DataLoader loader(std::make_shared<CifarDataset>(std::vector<std::string>{path}), {.batch = 2});
  Batch batch;
  ASSERT_TRUE(loader.next(batch));
  EXPECT_EQ(batch.data.shape(), (Shape{2, 3, 32, 32}));
  EXPECT_THAT(batch.label.to_vector(), ElementsAre(7, 3));
  EXPECT_NEAR(batch.data(1, 0, 0, 0).item(), 0.2, 1e-6);
  EXPECT_THAT(message([&] { CifarDataset({rows}); }),
              HasSubstr("12 bytes, which are no whole number of 3073"));
  FileLoader table = csv(rows, {2}, labels, 2);
  ASSERT_TRUE(table.next(batch));
  EXPECT_THAT(batch.data.to_vector(), ElementsAre(1, 2, 3, 4));
  ASSERT_TRUE(table.next(batch));
  EXPECT_EQ(batch.size(), 1);
}

}  // namespace
