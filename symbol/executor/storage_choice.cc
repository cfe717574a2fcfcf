// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/storage_choice.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/log.h"

namespace loomix {

ops::KernelChoice choose_by_storage(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                                    ops::KernelSpec spec, std::span<StorageType> stypes, Device device) {
  load_kernels(runtime, device);
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
  // What a device lacks is run on the host.
  const auto accepts = [&] {
    if (!device.is_host() && op.find_kernel(*attrs, spec, device.type)) return true;
    return (device.is_host() || runtime.device_fallback) && op.find_kernel(*attrs, spec, DeviceType::cpu);
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

namespace {

// Of operators that a program calls on purpose it hears once.
void warn_of_dense_copies(const ops::OpDef& op, std::string_view stypes) {
  static std::mutex mutex;
  static std::set<const ops::OpDef*> warned;
  const std::lock_guard lock(mutex);
  if (!warned.insert(&op).second) return;
  log(LogLevel::warning,
      "[{}] storage type fallback: no kernel takes the storage types ({}), so the inputs are made dense; the "
      "result is "
      "the same.",
      op.name, stypes);
}

}  // namespace

void explain_fallback(const Runtime& runtime, const ops::OpDef& op, std::span<const StorageType> in) {
  std::string stypes;
  for (const StorageType stype : in)
    stypes += fmt::format("{}{}", stypes.empty() ? "" : ", ", name_of(stype));
  warn_of_dense_copies(op, stypes);
  if (!runtime.dispatch_listener) return;
  (*runtime.dispatch_listener)(
      fmt::format("{}: no kernel takes storage types ({}); the inputs are made dense", op.name, stypes));
}

}  // namespace loomix
