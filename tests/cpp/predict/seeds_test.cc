// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fuzz_predict.h"

namespace {

std::map<std::string, std::vector<uint8_t>> seeds() {
  std::map<std::string, std::vector<uint8_t>> all;
  for (const auto& entry :
       std::filesystem::directory_iterator(LOOMIX_SOURCE_DIR "/tests/cpp/predict/seeds")) {
    std::ifstream file(entry.path(), std::ios::binary);
    all[entry.path().stem()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return all;
}

// What the fuzzer begins with is of use to it: models that can be made and run.
TEST(PredictSeeds, Run) {
  bound_memory();
  // Calls after the handle was freed, of outputs that there are not, and the like.
  constexpr int kMostFailures = 10;
  int good = 0;
  for (const auto& [name, bytes] : seeds()) {
    const int failures = try_predict(bytes);
    EXPECT_GE(failures, 0) << name;
    if (!name.starts_with("mxnet_")) {
      EXPECT_LE(failures, kMostFailures) << name;
    }
    good += failures <= kMostFailures ? 1 : 0;
  }
  EXPECT_GE(good, 20);
}

TEST(PredictSeeds, DamagedOnesAreErrors) {
  bound_memory();
  constexpr int kTimes = 60, kMostChanges = 4;
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const auto& [name, bytes] : seeds()) {
    for (int i = 0; i < kTimes; ++i) {
      std::vector<uint8_t> changed = bytes;
      for (unsigned left = 1 + random() % kMostChanges; left > 0; --left)
        changed[random() % changed.size()] = static_cast<uint8_t>(random());
      if (i % 8 == 0) changed.resize(random() % changed.size());
      EXPECT_GE(try_predict(changed), 0) << name;
    }
  }
}

}  // namespace
