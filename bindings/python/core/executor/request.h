// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "ops/kernel.h"

namespace loomix::python {

// "null", "write" or "add"; throws ValueError for others.
inline ops::Req to_request(const std::string& text, const char* who) {
  if (text == "null") return ops::Req::null;
  if (text == "write") return ops::Req::write;
  if (text == "add") return ops::Req::add;
  detail::throw_error<ValueError>("[{}] unknown grad_req '{}'; expected 'write', 'add' or 'null'.", who,
                                  text);
}

}  // namespace loomix::python
