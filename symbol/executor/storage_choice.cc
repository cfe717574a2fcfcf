// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/storage_choice.h"

#include <algorithm>

namespace loomix {

ops::KernelChoice choose_by_storage(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                                    ops::KernelSpec spec, std::span<StorageType> stypes, Device device) {
  const size_t num_in = spec.in.size();
  const std::span<StorageType> out = stypes.subspan(num_in);
  InlineVector<StorageType, 4> wanted;
  for (const StorageType stype : out) wanted.push_back(stype);
  StorageType first = StorageType::row_sparse;
  for (const StorageType stype : stypes.first(num_in)) {
    if (stype == StorageType::dense) continue;
    first = stype;
    break;
  }
  spec.stypes = stypes;
  const auto accepts = [&] {
    return op.find_kernel(*attrs, spec, device.is_host() ? DeviceType::cpu : device.type) != nullptr;
  };
  const auto is_known = [](StorageType stype) { return stype != StorageType::undefined; };
  // First what is given, with each way to store the rest; then whatever there is.
  for (const bool as_given : {true, false}) {
    if (!as_given && std::none_of(wanted.begin(), wanted.end(), is_known)) break;
    for (const StorageType candidate :
         {first, StorageType::row_sparse, StorageType::csr, StorageType::dense}) {
      for (size_t i = 0; i < out.size(); ++i) {
        const bool fits = candidate != StorageType::csr || spec.out[i].shape.ndim() == 2;
        out[i] = as_given && is_known(wanted[i]) ? wanted[i] : fits ? candidate : StorageType::dense;
      }
      if (accepts()) return choose_kernel(runtime, op, attrs, spec, device);
    }
  }
  if (runtime.dispatch_listener) op.find_kernel(*attrs, spec, DeviceType::cpu, runtime.dispatch_listener);
  return {};
}

void explain_fallback(const Runtime& runtime, const ops::OpDef& op, std::span<const StorageType> in) {
  if (!runtime.dispatch_listener) return;
  std::string stypes;
  for (const StorageType stype : in)
    stypes += fmt::format("{}{}", stypes.empty() ? "" : ", ", name_of(stype));
  (*runtime.dispatch_listener)(
      fmt::format("{}: no kernel takes storage types ({}); the inputs are made dense", op.name, stypes));
}

}  // namespace loomix
