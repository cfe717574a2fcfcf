// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ops/blocked/blocked.h"
#include "symbol/symbol.h"
#include "tests/cpp/symbol/run_fixture.h"

// Networks of convolutions, for tests of what works on blocks of channels; skips where nothing does.
namespace loomix::testing_blocked {

class BlockedTest : public testing_run::RunTest {
 protected:
  void SetUp() override {
    if (!ops::has_blocked_convolution())
      GTEST_SKIP() << "no oneDNN here, or no AVX2: nothing works on blocks of channels";
  }

  Symbol op(const char* name, const TextPairs& attrs, std::vector<Symbol> inputs) {
    std::vector<NamedSymbol> named;
    for (Symbol& input : inputs) named.push_back({"", std::move(input)});
    return Symbol::create(table(), name, attrs, named, "n" + std::to_string(names_++));
  }
  Symbol conv(const Symbol& x, int filters, int kernel, int stride = 1, int groups = 1, bool bias = true) {
    const auto pair = [](int i) { return fmt::format("({0}, {0})", i); };
    return op("Convolution",
              {{"kernel", pair(kernel)},
               {"num_filter", std::to_string(filters)},
               {"num_group", std::to_string(groups)},
               {"pad", pair(kernel / 2)},
               {"stride", pair(stride)},
               {"no_bias", bias ? "False" : "True"}},
              {x});
  }
  Symbol relu(const Symbol& x) { return op("Activation", {{"act_type", "relu"}}, {x}); }

  Symbol lrn(const Symbol& x, int neighbours = 5, const char* beta = "0.75") {
    return op("LRN", {{"nsize", std::to_string(neighbours)}, {"alpha", "0.5"}, {"beta", beta}}, {x});
  }

  int names_ = 0;
};

}  // namespace loomix::testing_blocked
