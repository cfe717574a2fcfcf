// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/staged_arrays.h"

namespace loomix {
namespace {

engine::ScratchBlock host_block(engine::Engine& engine, int64_t bytes) {
  return {engine::ScratchBlock::pool_of(engine, Device::cpu()), static_cast<size_t>(bytes), nullptr};
}

}  // namespace

StagedArrays::StagedArrays(engine::Engine& engine, Device device, std::span<const TensorView> views)
    : device_(engine.device(device)), originals_(views), views_(views.begin(), views.end()) {
  blocks_.reserve(views.size());
  for (TensorView& view : views_) {
    engine::ScratchBlock& block = blocks_.emplace_back();
    if (view.data == nullptr) continue;
    block = host_block(engine, view.bytes());
    view.data = block.bytes().data();
  }
}

void StagedArrays::fetch(size_t i) {
  if (views_[i].data == nullptr || views_[i].size() == 0) return;
  device_.copy_now(views_[i].data, originals_[i].data, static_cast<size_t>(views_[i].bytes()));
}

void StagedArrays::put_back(size_t i) {
  if (views_[i].data == nullptr || views_[i].size() == 0) return;
  device_.copy_now(originals_[i].data, views_[i].data, static_cast<size_t>(views_[i].bytes()));
}

StagedOutputs::StagedOutputs(engine::Engine& engine, Device device, std::span<const TensorView> views,
                             std::span<const Ref<Storage>> storages)
    : engine_(engine),
      device_(engine.device(device)),
      storages_(storages),
      views_(views.begin(), views.end()),
      blocks_(views.size()) {}

TensorView StagedOutputs::allocate(int output, const Shape& shape) {
  const auto i = static_cast<size_t>(output);
  views_[i].shape = shape;
  blocks_[i] = host_block(engine_, views_[i].bytes());
  views_[i].data = blocks_[i].bytes().data();
  return views_[i];
}

void StagedOutputs::put_back() {
  for (size_t i = 0; i < views_.size(); ++i) {
    storages_[i]->set_shape(views_[i].shape, views_[i].bytes());
    const auto bytes = static_cast<size_t>(views_[i].bytes());
    if (bytes > 0) device_.copy_now(storages_[i]->data(), views_[i].data, bytes);
  }
}

}  // namespace loomix
