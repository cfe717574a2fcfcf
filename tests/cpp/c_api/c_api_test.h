// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "loomix/c_api.h"

// Helpers for tests of c_api.h; they use nothing else of the library.
namespace loomix::c_api_test {

inline constexpr LoomixDevice kCpu{1, 0};

inline void expect_ok(int code) { EXPECT_EQ(code, 0) << LoomixGetLastError(); }
inline void expect_error(int code, const std::string& text) {
  EXPECT_EQ(code, -1);
  EXPECT_THAT(LoomixGetLastError(), ::testing::HasSubstr(text));
}

inline LoomixShape shape(std::initializer_list<int64_t> sizes) {
  LoomixShape result{};
  for (const int64_t size : sizes) result.sizes[result.axes++] = size;
  return result;
}

inline LoomixArray make_array(const LoomixShape& of, const std::vector<float>& values) {
  LoomixArray array = nullptr;
  expect_ok(LoomixArrayCreate(&of, LOOMIX_FLOAT32, kCpu, &array));
  expect_ok(LoomixArrayCopyFromHost(array, values.data(), values.size() * sizeof(float)));
  return array;
}

inline std::vector<float> values(LoomixArray array) {
  LoomixArrayInfo info{};
  expect_ok(LoomixArrayGetInfo(array, &info));
  size_t count = 1;
  for (int i = 0; i < info.shape.axes; ++i) count *= static_cast<size_t>(info.shape.sizes[i]);
  std::vector<float> result(count);
  expect_ok(LoomixArrayCopyToHost(array, result.data(), count * sizeof(float)));
  return result;
}

// Names and values, kept for the call.
class Pairs {
 public:
  Pairs(std::initializer_list<std::pair<const char*, const char*>> items) {
    for (const auto& [name, value] : items) {
      names_.push_back(name);
      values_.push_back(value);
    }
    pairs_ = {names_.size(), names_.data(), values_.data()};
  }
  const LoomixPairs* get() const { return &pairs_; }

 private:
  std::vector<const char*> names_, values_;
  LoomixPairs pairs_{};
};

inline std::vector<std::string> list_of(LoomixSymbol symbol, const char* kind) {
  size_t count = 0;
  const char* const* names = nullptr;
  expect_ok(LoomixSymbolList(symbol, kind, &count, &names));
  return {names, names + count};
}

// An operator on positional inputs.
inline LoomixSymbol compose(const char* op, const Pairs& pairs, std::vector<LoomixSymbol> inputs,
                            const char* name) {
  const LoomixSymbolInputs given{inputs.size(), nullptr, inputs.data()};
  LoomixSymbol symbol = nullptr;
  expect_ok(LoomixSymbolCreate(op, pairs.get(), &given, name, &symbol));
  return symbol;
}

inline LoomixSymbol variable(const char* name) {
  LoomixSymbol symbol = nullptr;
  expect_ok(LoomixSymbolVariable(name, nullptr, &symbol));
  return symbol;
}

// data -> fc (3 units) -> softmax
inline LoomixSymbol small_network() {
  const LoomixSymbol fc = compose("FullyConnected", {{"num_hidden", "3"}}, {variable("data")}, "fc");
  return compose("SoftmaxOutput", {}, {fc}, "softmax");
}

}  // namespace loomix::c_api_test
