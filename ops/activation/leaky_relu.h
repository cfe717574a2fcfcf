// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/activation/leaky_relus.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct LeakyReluParams {
  LeakyType act_type = leaky_type("leaky");
  float slope = 0.25f;
  float lower_bound = 0.125f;
  float upper_bound = 0.334f;

  static void fields(FieldList<LeakyReluParams>& f) {
    std::vector<std::pair<std::string_view, LeakyType>> types;
    const auto add = [&](std::string_view name) { types.emplace_back(name, leaky_type(name)); };
    std::apply([&](const auto&... kind) { (add(kind.name), ...); }, kLeakyRelus);
    f("act_type", &LeakyReluParams::act_type, "The function to apply.").options(types);
    f("slope", &LeakyReluParams::slope, "Slope for negative values (leaky), or their scale (elu).");
    f("lower_bound", &LeakyReluParams::lower_bound, "Least random slope (rrelu).");
    f("upper_bound", &LeakyReluParams::upper_bound, "Largest random slope (rrelu).");
  }
};

}  // namespace loomix::ops
