// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/engine.h"

// Which steps of a program become one task of the engine. Pure arithmetic on what is known when a graph is bound.
namespace loomix {

// What matters of a step.
struct ScheduledStep {
  std::span<const engine::Tag> tags;
  Device device;
  double cost_ns = 0;         // on one core
  int cores = 1;              // the most that it makes use of
  bool may_join = false;      // short, on a host, and through when its kernel returns
  bool leaves = false;        // writes what others may wait for: a gradient, an output, a state
  int64_t leaving_bytes = 0;  // of gradients and outputs
  bool issues = false;        // on a device that records work, and only puts work on its queue
};

// The most steps that a task may have; 1: none are joined.
struct MostSteps {
  int short_ones;  // on hosts
  int issued = 1;  // on devices
  int64_t leaving_bytes =
      std::numeric_limits<int64_t>::max();  // a task on a device ends where as many leave it
};

// How many steps each task has, in their order. Estimates decide on hosts, with every core free:
//  - a step joins the one before it if it reads that one's result, or if it is so short that handing it over would take as long;
//  - not if it has to wait longer for other steps than those before it in the task do;
//  - what leaves ends a task, and a task is never long.
// Neighbours that put work on the queue of one device are joined as they are: the queue does one after the other anyway.
std::vector<uint32_t> group_steps(std::span<const ScheduledStep> steps, MostSteps most);

}  // namespace loomix
