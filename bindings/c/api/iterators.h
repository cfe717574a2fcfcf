// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace loomix::c {

std::vector<std::string> iterator_names();  // in alphabetical order

}  // namespace loomix::c
