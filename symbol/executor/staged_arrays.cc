// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/staged_arrays.h"

#include "ndarray/sparse.h"

namespace loomix {
namespace {

engine::ScratchBlock host_block(engine::Engine& engine, int64_t bytes) {
  return {engine::ScratchBlock::pool_of(engine, Device::cpu()), static_cast<size_t>(bytes), nullptr};
}

}  // namespace

StagedArrays::StagedArrays(engine::Engine& engine, Device device, std::span<const TensorView> views,
                           std::span<const Ref<Storage>> storages)
    : device_(engine.device(device)),
      originals_(views),
      original_storages_(storages),
      views_(views.begin(), views.end()),
      storages_(storages.begin(), storages.end()) {
  blocks_.reserve(views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    engine::ScratchBlock& block = blocks_.emplace_back();
    TensorView& view = views_[i];
    if (is_sparse(i)) {
      const StorageType stype = storages_[i]->stype();
      storages_[i] = make_ref<Storage>(engine, stype, Device::cpu());
      storages_[i]->resize_sparse(0, size_of(view.dtype), stype == StorageType::csr ? view.shape[0] + 1 : 0);
    }
    if (view.data == nullptr) continue;
    block = host_block(engine, view.bytes());
    view.data = block.bytes().data();
  }
}

void StagedArrays::fetch(size_t i) {
  if (is_sparse(i))
    return move_sparse(*original_storages_[i], *storages_[i], views_[i].shape, views_[i].dtype);
  if (views_[i].data == nullptr || views_[i].size() == 0) return;
  device_.copy_now(views_[i].data, originals_[i].data, static_cast<size_t>(views_[i].bytes()));
}

void StagedArrays::put_back(size_t i) {
  if (is_sparse(i))
    return move_sparse(*storages_[i], *original_storages_[i], views_[i].shape, views_[i].dtype);
  if (views_[i].data == nullptr || views_[i].size() == 0) return;
  device_.copy_now(originals_[i].data, views_[i].data, static_cast<size_t>(views_[i].bytes()));
}

void StagedArrays::share(size_t i, size_t of) {
  views_[i].data = views_[of].data;
  storages_[i] = storages_[of];
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
