// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace loomix::kvstore {

// What names a value: a number or a text. 3 and "3" are different keys.
using Key = std::variant<int64_t, std::string>;

std::string to_text(const Key& key);  // 3, 'weight': for errors

}  // namespace loomix::kvstore
