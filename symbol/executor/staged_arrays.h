// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "engine/device/device_runtime.h"
#include "engine/device/scratch_block.h"
#include "ndarray/storage.h"
#include "ndarray/tensor_view.h"
#include "ops/kernel.h"

namespace loomix {

// Copies on the host of arrays that lie on a device, for a kernel of the host's that runs in the place of one of the device's.
// Their tasks have waited for the device, so copies take place at once.
class StagedArrays {
 public:
  StagedArrays(engine::Engine& engine, Device device, std::span<const TensorView> views,
               std::span<const Ref<Storage>> storages);

  std::span<const TensorView> views() const noexcept {
    return views_;
  }  // on the host, undefined until fetched
  std::span<const Ref<Storage>> storages() const noexcept { return storages_; }  // of sparse ones, too
  void fetch(size_t i);
  void put_back(size_t i);
  // Array i is array `of`, which the kernel changes.
  void share(size_t i, size_t of);

 private:
  engine::DeviceRuntime& device_;
  bool is_sparse(size_t i) const { return storages_[i] && storages_[i]->stype() != StorageType::dense; }
  std::span<const TensorView> originals_;
  std::span<const Ref<Storage>> original_storages_;
  std::vector<TensorView> views_;
  std::vector<Ref<Storage>> storages_;
  std::vector<engine::ScratchBlock> blocks_;
};

// Outputs whose shapes depend on data: made on the host, then copied to memory of the device.
class StagedOutputs final : public ops::DeferredOutputs {
 public:
  StagedOutputs(engine::Engine& engine, Device device, std::span<const TensorView> views,
                std::span<const Ref<Storage>> storages);
  TensorView allocate(int output, const Shape& shape) override;
  void put_back();

 private:
  engine::Engine& engine_;
  engine::DeviceRuntime& device_;
  std::span<const Ref<Storage>> storages_;
  std::vector<TensorView> views_;
  std::vector<engine::ScratchBlock> blocks_;
};

}  // namespace loomix
