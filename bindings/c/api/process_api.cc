// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bindings/c/api/iterators.h"
#include "bindings/c/api/objects.h"
#include "bindings/c/guard.h"
#include "engine/device/device_runtime.h"
#include "ops/table.h"

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

namespace {

constexpr int kVersion = 100 * LOOMIX_VERSION_MINOR + 10000 * LOOMIX_VERSION_MAJOR + LOOMIX_VERSION_PATCH;

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const ops::OpDef& op : running().table().all()) {
    if (op.hidden) continue;
    names.push_back(op.name);
    names.insert(names.end(), op.aliases.begin(), op.aliases.end());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

const char* LoomixGetLastError() { return last_error(); }

int LoomixGetInfo(int* version, int* gpus) {
  return guarded([&] {
    const int count = gpus ? engine::count_gpus() : 0;
    if (version) *version = kVersion;
    if (gpus) *gpus = count;
  });
}

int LoomixFree(void* handle) {
  return guarded([&] { remove_object(handle); });
}

int LoomixWaitAll() {
  return guarded([&] { running().engine().wait_all(); });
}

int LoomixSeed(uint64_t seed) {
  return guarded([&] { running().generators().seed_all(seed); });
}

int LoomixListNames(const char* kind, size_t* count, const char* const** names) {
  return guarded([&] {
    not_null(count, "LoomixListNames", "count");
    not_null(names, "LoomixListNames", "names");
    const std::string_view wanted = not_null(kind, "LoomixListNames", "kind");
    LOOMIX_CHECK(wanted == "operators" || wanted == "iterators", ValueError,
                 "[LoomixListNames] kind is '{}'; expected 'operators' or 'iterators'.", wanted);
    TextList& list = answer().lists[0];
    *names = list.set(wanted == "operators" ? operator_names() : iterator_names());
    *count = list.texts.size();
  });
}
