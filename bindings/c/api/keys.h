// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bindings/c/api/objects.h"
#include "kvstore/key.h"

namespace loomix::c {

inline kvstore::Key to_key(const LoomixKey* key, const char* who) {
  not_null(key, who, "key");
  if (key->name) return std::string(key->name);
  return key->number;
}

}  // namespace loomix::c
