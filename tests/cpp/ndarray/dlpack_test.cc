// SPDX-License-Identifier: Apache-2.0
#include "ndarray/dlpack.h"

#include <gtest/gtest.h>

#include "ndarray/third_party/dlpack/dlpack.h"
#include "tests/cpp/ndarray/array_fixture.h"

namespace loomix {
namespace {

using DLPackTest = testing_arrays::ArrayTest;

TEST_F(DLPackTest, RoundTripSharesMemory) {
  NDArray a = array<float>({2, 40}, std::vector<float>(80, 1));
  void* const data = a.view().data;
  const NDArray plain = from_dlpack(*engine_, to_dlpack(a));
  const NDArray versioned = from_dlpack(*engine_, to_dlpack_versioned(a.at(1)));
  a = NDArray();
  EXPECT_EQ(plain.view().data, data);
  EXPECT_EQ(plain.shape(), (Shape{2, 40}));
  fill(versioned, 5);
  versioned.wait_to_read();
  EXPECT_EQ(values<float>(plain)[39], 1);
  EXPECT_EQ(values<float>(plain)[40], 5);
}

TEST_F(DLPackTest, EveryTypeHasACode) {
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::uint8, DType::int32, DType::int8,
                      DType::int64, DType::boolean, DType::bfloat16}) {
    const NDArray a = zeros(*engine_, Shape{3}, dtype, Device::cpu());
    EXPECT_EQ(from_dlpack(*engine_, to_dlpack(a)).dtype(), dtype);
  }
}

// A foreign tensor of 2 x 3 floats that counts the calls of its deleter.
struct Foreign {
  float items[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  int deleted = 0;
  DLManagedTensorVersioned tensor = {};
  Foreign() {
    tensor.version = {DLPACK_MAJOR_VERSION, 0};
    tensor.manager_ctx = this;
    tensor.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->deleted;
    };
    tensor.dl_tensor = {items, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  }
};

TEST_F(DLPackTest, ForeignTensorsAreReleasedOnce) {
  Foreign foreign;
  {
    const NDArray a = from_dlpack(*engine_, &foreign.tensor);
    EXPECT_EQ(a.view().data, foreign.items);
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
}

TEST_F(DLPackTest, StridedAndReadOnlyTensorsAreCopied) {
  Foreign foreign;
  std::swap(foreign.shape[0], foreign.shape[1]);
  std::swap(foreign.strides[0], foreign.strides[1]);
  EXPECT_EQ(values<float>(from_dlpack(*engine_, &foreign.tensor)), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(foreign.deleted, 1);
  Foreign constant;
  constant.tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  EXPECT_NE(from_dlpack(*engine_, &constant.tensor).view().data, constant.items);
}

TEST_F(DLPackTest, RefusesWhatItCannotHold) {
  Foreign foreign;
  foreign.tensor.dl_tensor.device.device_type = kDLCUDA;
  EXPECT_THROW(from_dlpack(*engine_, &foreign.tensor), DeviceError);
  foreign.tensor.dl_tensor.device.device_type = kDLCPU;
  foreign.tensor.dl_tensor.dtype.lanes = 2;
  EXPECT_THROW(from_dlpack(*engine_, &foreign.tensor), TypeError);
  foreign.tensor.dl_tensor.dtype.lanes = 1;
  foreign.tensor.version.major = 2;
  EXPECT_THROW(from_dlpack(*engine_, &foreign.tensor), ValueError);
  EXPECT_EQ(foreign.deleted, 0);
}

}  // namespace
}  // namespace loomix
