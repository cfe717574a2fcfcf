// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "symbol/executor/run_node.h"

namespace loomix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KernelModuleFile : public ::testing::Test {
 protected:
  KernelModuleFile() : engine_(engine::make_threaded_engine()), runtime_(*engine_, table()) {}
  static ops::OpTable& table() {
    static ops::OpTable* const made = [] {
      static ops::OpTable own;
      ops::register_all(own);
      own.validate();
      return &own;
    }();
    return *made;
  }
  std::unique_ptr<engine::Engine> engine_;
  Runtime runtime_;
};

TEST_F(KernelModuleFile, OfAnotherVersionIsRefusedByName) {
  try {
    ops::load_kernel_module(table(), LOOMIX_OTHER_NULL_KERNELS);
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_THAT(error.what(), HasSubstr("[kernel module 'null_kernels' 0.3] it was built for version 2"));
  }
}

TEST_F(KernelModuleFile, BringsKernelsThatRun) {
  const std::vector<float> items = {1, 2, 3};
  NDArray x(*engine_, Shape{3}, DType::float32, Device::null());
  x.copy_from_host(items.data(), 12);
  EXPECT_THROW(run_node(runtime_, "_plus_scalar", {x}, {{"scalar", "2"}}), NotImplementedError);
  ops::load_kernel_module(table(), LOOMIX_NULL_KERNELS);
  const NDArray y = run_node(runtime_, "_plus_scalar", {x}, {{"scalar", "2"}})[0];
  std::vector<float> got(3);
  y.copy_to_host(got.data(), 12);
  EXPECT_THAT(got, ElementsAre(3, 4, 5));
}

}  // namespace
}  // namespace loomix
