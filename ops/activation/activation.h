// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/activation/activations.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct ActivationParams {
  ActType act_type{};

  static void fields(FieldList<ActivationParams>& f) {
    std::vector<std::pair<std::string_view, ActType>> types;
    const auto add = [&](const char* name) { types.emplace_back(name, static_cast<ActType>(types.size())); };
    std::apply([&](const auto&... kind) { (add(kind.name), ...); }, kActivations);
    f("act_type", &ActivationParams::act_type, "The function to apply.").options(types).required("relu");
  }
};

}  // namespace loomix::ops
