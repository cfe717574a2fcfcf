// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "symbol/executor/program.h"
#include "symbol/executor/runtime.h"

// What the settings (docs/settings.md) say of running operators, for every language that Loomix is called from.
namespace loomix {

// `options`: what no setting says.
std::unique_ptr<engine::Engine> engine_from_settings(engine::EngineOptions options = {});
// Sets what explains and checks.
void apply_settings(Runtime& runtime);
PlanOptions plan_from_settings();

}  // namespace loomix
