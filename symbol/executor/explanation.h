// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "memplan/plan.h"
#include "symbol/passes/fuse.h"
#include "symbol/passes/plan.h"
#include "symbol/passes/whole_note.h"

// What the compiler made of a symbol, as data for people to look at.
namespace loomix {

// A program: its calls in order, its values and where they lie.
struct ProgramReport {
  enum class Kind : uint8_t { output, saved, scratch };
  enum class Place : uint8_t { planned, own, unused };
  struct Value {
    Kind kind = Kind::output;
    Place place = Place::planned;
    std::string name;  // "fc1_output"; empty for scratch memory
    Shape shape;
    DType dtype = DType::unknown;
    int64_t bytes = 0;
    int64_t offset = -1;      // if planned: in the memory of its call's device
    int32_t inplace_of = -1;  // the value, in `values`, whose memory it took over
    int32_t last = -1;        // the call that uses it last; the one that writes it if none does
  };
  struct Call {
    NodeId node = -1;
    std::string name, op, kernel;  // "transfer" for a copy between devices
    Device device;
    std::string gradient_of;  // of the backward segment: the node whose gradient it belongs to
    bool again = false;       // makes a value of the forward segment again
    bool converts_layout = false;
    std::vector<std::string> parts;           // of several operators in one pass over memory: which
    double estimated_ns = 0;                  // on one core
    std::optional<int64_t> last_ns;           // what the last run took, if that was measured
    int32_t first_value = 0, num_values = 0;  // in `values`
    int num_detours = 0;                      // outputs that a copy brings to their place
    bool is_backward() const { return !gradient_of.empty(); }
  };
  int num_nodes = 0;
  int num_forward = 0;  // calls
  int num_tasks =
      0;  // of the engine; fewer than calls where short ones are joined. 0: not known before memory is taken
  int num_on_one_core = 0;  // calls of branches that were measured to be faster side by side
  int num_views = 0;        // nodes that are views of others' memory, and need no call
  int num_inplace = 0;
  int num_waits = 0;  // of calls for memory that is used again
  std::vector<Call> calls;
  std::vector<Value> values;  // in the order of the calls
  std::vector<memplan::Arena> arenas;
  std::vector<int32_t> peaks;  // one an arena: the call at which the most is alive

  int64_t planned_bytes() const;
  int64_t naive_bytes() const;
  int64_t lower_bound() const;
  double estimated_ns() const;
};

// One line a call, for LOOMIX_EXPLAIN=plan and debug_str.
std::string to_text(const ProgramReport& report);

// What a pass changed: operators of the graph that it got, and of the one that it made.
struct PassNote {
  struct Operators {
    std::string op;
    int count = 0;
    std::vector<std::string> names;  // of those that have one
  };
  std::string pass;
  int before = 0, after = 0;  // operators, without held ones
  std::vector<Operators> gone, made;
  int conversions = 0;  // of layouts that it made
  int held = 0;         // operators that it made for weights: they run when these have changed
  int64_t ns = 0;       // that the compiler took for it
};

// What memory_budget changed. Estimates are of a pass, on one core.
struct BudgetNote {
  int64_t bytes = 0;  // allowed
  int64_t bytes_without = 0;
  double estimated_ns_without = 0;
};

struct Explanation {
  // What the user gives: arguments and auxiliary states, and what outputs take.
  struct Array {
    enum class Kind : uint8_t { argument, auxiliary_state, output } kind = Kind::argument;
    std::string name;
    Shape shape;
    DType dtype = DType::unknown;
    int64_t bytes = 0;
    bool has_gradient = false;
  };
  // A weight as kernels want it, computed when what it depends on has changed.
  struct Held {
    std::string name;
    Shape shape;
    int64_t bytes = 0;
  };
  std::string title;
  bool training = false;
  bool with_gradients = false;
  Device device;
  std::vector<Array> arrays;
  std::vector<PassNote> passes;
  std::vector<FusionLog::Apart> apart;  // why passes over memory end where they do
  std::vector<WholeNote> whole;         // of layers of 8 bits
  ProgramReport program;
  std::vector<Held> held;
  std::optional<BudgetNote> budget;
  std::optional<PlannedBytes> strategies;  // if asked for
};

}  // namespace loomix
