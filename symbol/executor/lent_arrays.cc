// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/lent_arrays.h"

#include <exception>
#include <thread>

#include "engine/device/device_runtime.h"

namespace loomix {
namespace {

// A task that is done may hold its arrays for a moment longer.
bool is_kept(const NDArray& array) {
  constexpr int kPatience = 50;
  for (int i = 0; i < kPatience; ++i) {
    if (array.storage_ref()->unique()) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

NDArray LentArrays::lend(const TensorView& view, const Ref<Storage>& storage) {
  const auto* const data = static_cast<const std::byte*>(view.data);
  const auto* const begin = static_cast<const std::byte*>(storage->data());
  if (data < begin || data + view.bytes() > begin + storage->bytes()) {
    return scratch_.emplace_back(NDArray(engine_, view.shape, view.dtype, storage->device()), view).first;
  }
  auto lent = make_ref<Storage>(engine_, view.data, view.bytes(), storage->device(), [storage] {});
  return arrays_.emplace_back(std::move(lent), view.shape, view.dtype);
}

void LentArrays::settle() const {
  std::exception_ptr error;
  const auto wait = [&](const NDArray& array) {
    try {
      array.wait_to_write();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  };
  for (const NDArray& array : arrays_) wait(array);
  for (const auto& [array, place] : scratch_) wait(array);
  if (error) std::rethrow_exception(error);
  for (const auto& [array, place] : scratch_) {
    engine_.device(array.device())
        .copy_now(place.data, array.view().data, static_cast<size_t>(place.bytes()));
  }
}

std::vector<NDArray> LentArrays::kept() const {
  std::vector<NDArray> kept;
  for (const NDArray& array : arrays_) {
    if (is_kept(array)) kept.push_back(array);
  }
  return kept;
}

}  // namespace loomix
