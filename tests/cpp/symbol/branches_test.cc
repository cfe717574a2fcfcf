// SPDX-License-Identifier: Apache-2.0
// Whether branches run side by side is measured, or known from a file.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "symbol/executor/bound_executor.h"
#include "symbol/symbol.h"
#include "symbol/tuning/tuner.h"
#include "tests/cpp/symbol/run_fixture.h"

namespace loomix {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BranchesTest : public testing_run::RunTest {
 protected:
  BranchesTest()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("loomix_branches_{}", ::getpid())),
        engine_of_two_(engine::make_threaded_engine({.workers = 2})),
        runtime_of_two_(*engine_of_two_, table()) {}
  ~BranchesTest() override {
    runtime_of_two_.tuner = nullptr;
    engine_of_two_->shutdown();
    std::filesystem::remove_all(folder_);
  }
  static Symbol apply(std::string_view op, std::vector<NamedSymbol> inputs, const std::string& name,
                      const TextPairs& attrs = {}) {
    return Symbol::create(table(), op, attrs, inputs, name);
  }
  // Products of matrices, each worth two cores: x w0 and x w1, and their sum; or one after the other.
  static Symbol net(bool side_by_side) {
    const Symbol x = Symbol::variable("x");
    const auto layer = [](const Symbol& data, const std::string& name) {
      return apply("FullyConnected", {{"", data}, {"", Symbol::variable("weight_" + name)}}, name,
                   {{"num_hidden", "256"}, {"no_bias", "True"}});
    };
    const Symbol first = layer(x, "first"), second = layer(side_by_side ? x : first, "second");
    return apply("elemwise_add", {{"", first}, {"", second}}, "sum");
  }
  Ref<BoundExecutor> bind(const Symbol& symbol) {
    SimpleBindRequest wanted;
    wanted.shapes = {{"x", Shape{256, 256}}};
    wanted.requests.assign(symbol.list_arguments().size(), ops::Req::null);
    const auto executor = BoundExecutor::simple_bind(runtime_of_two_, symbol, Device::cpu(), wanted, {});
    for (const NDArray& argument : executor->arrays().arguments)
      copy(array({256, 256}, std::vector<float>(256 * 256, 0.01F)), argument);
    return executor;
  }
  std::string kept() const {
    std::ifstream stream(file_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  const std::filesystem::path folder_;
  const std::filesystem::path file_ = folder_ / "tuned.json";
  const std::unique_ptr<engine::Engine> engine_of_two_;
  Runtime runtime_of_two_;
};

TEST_F(BranchesTest, AreMeasuredOnceAndTheAnswerIsKept) {
  const auto want = values(bind(net(true))->forward(RunMode::inference)[0]);
  TunedChoices choices(file_, "this machine");
  const Tuner tuner(choices, true);
  runtime_of_two_.tuner = &tuner;
  EXPECT_EQ(values(bind(net(true))->forward(RunMode::inference)[0]), want);
  const std::string first = kept();
  EXPECT_THAT(first, HasSubstr("branches of 3 operators"));
  EXPECT_THAT(first, AnyOf(HasSubstr("all cores"), HasSubstr("one core each")));
  EXPECT_EQ(values(bind(net(true))->forward(RunMode::inference)[0]), want);
  EXPECT_EQ(kept(), first);
}

TEST_F(BranchesTest, WhatIsKnownIsDone) {
  const auto want = values(bind(net(true))->forward(RunMode::inference)[0]);
  std::string question;
  {
    TunedChoices choices(file_, "this machine");
    const Tuner tuner(choices, true);
    runtime_of_two_.tuner = &tuner;
    bind(net(true))->forward(RunMode::inference)[0].wait_to_read();
    const std::string text = kept();
    const size_t at = text.find("branches of");
    question = text.substr(at, text.find('"', at) - at);
  }
  TunedChoices choices(file_, "this machine");
  for (const char* way : {"one core each", "all cores", "something else"}) {
    choices.add(question, way);
    const Tuner tuner(choices, false);
    runtime_of_two_.tuner = &tuner;
    const auto executor = bind(net(true));
    EXPECT_EQ(values(executor->forward(RunMode::inference)[0]), want) << way;
    EXPECT_EQ(executor->explanation(RunMode::inference, false).program.num_on_one_core,
              std::string(way) == "one core each" ? 2 : 0)
        << way;
  }
}

TEST_F(BranchesTest, AChainHasNone) {
  TunedChoices choices(file_, "this machine");
  const Tuner tuner(choices, true);
  runtime_of_two_.tuner = &tuner;
  bind(net(false))->forward(RunMode::inference)[0].wait_to_read();
  EXPECT_THAT(kept(), Not(HasSubstr("branches")));
}

}  // namespace
}  // namespace loomix
