// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/device_traits.h"
#include "ops/image_form.h"
#include "symbol/executor/constants.h"
#include "symbol/executor/held_values.h"
#include "symbol/executor/monitor.h"
#include "symbol/executor/pass_log.h"
#include "symbol/executor/program.h"
#include "symbol/passes/place.h"
#include "symbol/symbol.h"

namespace loomix {

class BoundExecutor;
class DynamicGraph;

// With a shape and a type, but no memory: for executors that only plan. No task may use it.
NDArray array_without_memory(engine::Engine& engine, const Shape& shape, DType dtype, Device device);

// Gradients can be had in both modes of the operators. Inference as a rule keeps nothing for them.
enum class RunMode : uint8_t { inference, training, inference_with_gradients };

// One entry an argument or auxiliary state, in the symbol's order. A gradient that is not asked for is a none array with
// request null.
struct BoundArrays {
  std::vector<NDArray> arguments;
  std::vector<NDArray> gradients;
  std::vector<ops::Req> requests;
  std::vector<NDArray> auxiliary_states;
};

struct BindOptions {
  PlanOptions plan;
  bool plan_only = false;  // arrays have no memory, and nothing can run: to look at what is compiled
  std::map<std::string, Device> groups;  // ctx_group -> device
  Ref<BoundExecutor> shared;  // whose planned memory is used, too; passes of the two in turn cost least
  // Of a model whose weights never change: where its executors keep what they compute from those, and which arguments they are.
  Ref<HeldValues> held = {};
  std::vector<char> fixed = {};  // one an argument
};

// What simple_bind is told; the rest is inferred. Types that nothing decides are float32.
struct SimpleBindRequest {
  std::vector<std::pair<std::string, Shape>> shapes;  // written by shape_rule()
  std::vector<std::pair<std::string, DType>> dtypes;
  std::vector<ops::Req> requests;                           // one an argument
  std::vector<std::pair<std::string, StorageType>> stypes;  // of arguments that are not dense
  std::vector<std::string> shared_arguments;  // taken over from BindOptions::shared with their gradients
};

// A symbol bound to arrays: what Python calls an Executor. Compiled on the first pass in each mode; afterwards a pass
// pushes prepared calls and allocates nothing. Passes return at once: outputs and gradients are ready when their own
// Vars are. One thread at a time.
class BoundExecutor final : public RefCounted {
 public:
  static Ref<BoundExecutor> bind(Runtime& runtime, const Symbol& symbol, Device device, BoundArrays arrays,
                                 BindOptions options = {});
  static Ref<BoundExecutor> simple_bind(Runtime& runtime, const Symbol& symbol, Device device,
                                        const SimpleBindRequest& request, BindOptions options = {});

  // Where simple_bind puts arguments and auxiliary states, with their gradients: on the devices of their groups.
  struct VariableDevices {
    std::vector<Device> arguments, auxiliary_states;
  };
  static VariableDevices variable_devices(const Symbol& symbol, Device device,
                                          const std::map<std::string, Device>& groups);

  // How the gradients of arguments are stored that are not said to be stored otherwise: one an argument, dense where none is
  // asked for.
  static std::vector<StorageType> gradient_storage(Runtime& runtime, const Symbol& symbol, Device device,
                                                   BoundArrays arrays, BindOptions options = {});

  // Throws NotImplementedError that names the node whose operator does not exist here.
  static void check_can_run(const Symbol& symbol);
  // Whether shapes depend on data. Then outputs are new arrays in each pass, none before the first; nothing is planned from the
  // operators on that make it so.
  bool is_dynamic() const { return static_cast<bool>(dynamic_); }
  bool merges_equal() const { return options_.plan.merge_equal; }
  ~BoundExecutor() override;

  // The arrays are the same in every pass; each overwrites them.
  std::span<const NDArray> forward(RunMode mode);
  // Compiles for inference, and computes what is held, now rather than in the first pass.
  void prepare();
  // For options with `held`, after prepare(): whether an argument's array is read by passes, or would be by those of an executor
  // for other sizes; and an end to its use, if not. Only inference can run then.
  bool needs_argument(size_t i) const;
  void let_go(size_t i);
  // The gradients of the last forward pass, or, without one, of one that is run now (in training mode, if `mode` does
  // not say). One head gradient an output, or none where every output that needs one is a loss. A mode that is not that
  // of the pass is an error. Does nothing where no gradient was asked for.
  //
  // What the pass did not keep, or another use of the memory has overwritten since, is computed again with the pass's
  // own random numbers; outputs that users see are left alone, and states that it changed are not changed twice. That is
  // so at the first backward in inference (later passes keep what it needs), at a second backward, and after another
  // executor has used shared memory. StateError if something that is read again was overwritten since the pass.
  void backward(std::span<const NDArray> head_gradients = {}, std::optional<RunMode> mode = {});

  // An executor for other shapes that shares memory with this one. Shapes not named may change only with `partial`;
  // arrays may grow, which takes new memory, only with `grow`.
  struct ReshapePolicy {
    bool partial = false;
    bool grow = false;
  };
  Ref<BoundExecutor> reshape(std::span<const std::pair<std::string, Shape>> shapes, ReshapePolicy policy);

  // Put other arrays of the same shape, type and device in the place of those that passes used so far; passes from now on
  // use them. Nothing is compiled again.
  void replace_argument(size_t i, const NDArray& array);
  void replace_auxiliary_state(size_t i, const NDArray& array);
  void replace_gradient(size_t i, const NDArray& array);
  // One array an output; outputs that share memory share it in the new arrays, too.
  void replace_outputs(std::span<const NDArray> arrays);
  // The same with new arrays, so that whoever holds the old ones keeps their values: as an argument of the next pass, too.
  // Outputs that are variables are the variables' arrays.
  void renew_outputs();
  // backward() that reads the head gradients where they are, not from a copy.
  void backward_from(std::span<const NDArray> head_gradients);
  // What the gradients of the last pass need and somebody has overwritten since: "input 'x' (shape (2, 3))", "output 0 (shape
  // (2, 3))". Empty if nothing.
  std::string find_overwritten();

  std::span<const NDArray> outputs() const { return outputs_; }
  const BoundArrays& arrays() const { return arrays_; }
  const Symbol& symbol() const { return symbol_; }
  Device device() const { return device_; }

  // Is called after each operator is pushed, and for its inputs before. From now on every operator runs, and every value has
  // memory of its own.
  void set_monitor(Monitor monitor);

  // What was compiled: calls, kernels, offsets, bytes beside their lower bound.
  std::string explain(RunMode mode);
  // The same as data, with what each pass did: for that everything is compiled a second time, without memory. Waits for the
  // last pass, whose times it tells.
  Explanation explanation(RunMode mode, bool compare_strategies);
  // The mode of the last pass; before the first one, what the arrays are for.
  RunMode explained_mode() const;
  // Of a symbol that is bound only to look at it: nothing runs, and no array takes memory.
  static Explanation explain_symbol(Runtime& runtime, const Symbol& symbol, Device device,
                                    const SimpleBindRequest& request, BindOptions options, RunMode mode,
                                    bool compare_strategies);
  const GraphPlan& plan(RunMode mode) { return program(mode).plan(); }
  PlannedBytes compare_sharing(RunMode mode) { return program(mode).compare_sharing(); }

 private:
  // Where the arrays are used in a compiled graph; empty where they are not.
  struct Places {
    std::vector<ValueRef> arguments, auxiliary_states, gradients, outputs, heads;
  };
  BoundExecutor(Runtime& runtime, const Symbol& symbol, Device device, BoundArrays arrays,
                BindOptions options);
  void check_arrays() const;
  void check_budget();
  void make_outputs();
  void share_outputs(const BoundExecutor& other);
  void check_head_gradients(std::span<const NDArray> head_gradients) const;
  void read_in_place(size_t head, const NDArray& given);
  void run_backward();
  void forward_dynamic(bool training);
  void backward_dynamic(std::span<const NDArray> head_gradients);
  std::string find_overwritten(const Places& places, const Program& own, bool again) const;
  std::optional<size_t> find_overwritten_output(const Places& places, const Program& own) const;
  bool is_kept(const Program& own) const { return last_.program.get() == &own && own.keeps_values(); }
  std::vector<NDArray> make_fresh_outputs() const;
  Program& program(RunMode mode);
  static void replace_in(const Ref<Program>& program, const std::vector<ValueRef>& places, size_t i,
                         const NDArray& array);
  Ref<Program> compile(RunMode mode);
  Ref<Program> planned(Graph graph, RunMode mode, const Constants& constants, std::string* explanation);
  Ref<Program> within_budget(const Graph& graph, RunMode mode, const Constants& constants,
                             std::string* explanation);
  Bindings bindings_for(const Graph& graph, std::span<const Device> devices, const Constants& constants);
  std::string title(RunMode mode) const;
  Places find_places(const Graph& graph) const;
  void find_variables(const Graph& graph, Places& places) const;
  Graph made_for_prediction(Graph graph, Constants& constants, std::string* explanation);
  void hold(Graph graph, std::span<const Ref<const NodeInfo>> values, Constants& constants);
  void compute_held(Graph graph, std::span<const Ref<const NodeInfo>> values,
                    std::span<const std::string> keys, Constants& constants);
  std::vector<std::string> held_keys(const Graph& graph) const;
  void note_forms(const Graph& graph);
  void note_form(const Graph& graph, NodeId id, std::span<const std::string> keys, const std::string& key);
  Graph restored(const Graph& graph, std::span<const std::string> keys, Constants& constants);
  void check_present(const Graph& graph) const;
  void update_held();
  void choose_branches(Program& program) const;
  std::string explain_held(RunMode mode) const;
  void end(const char* pass, const Graph& graph, const Inference* known = nullptr);
  NDArray new_array(const Shape& shape, DType dtype, Device device) const;
  std::vector<Explanation::Array> described_arrays() const;
  void wait_for_last_pass() const;
  Graph training_graph();
  Graph add_gradients(Graph graph);
  Graph simplified(Graph graph, bool training, Constants& constants);
  engine::DeviceTraits traits() const;               // of the device that it is bound to
  std::optional<ops::ImageForm> image_form() const;  // that the device wants beside the plain one
  bool has_dense_arrays_only() const;
  Graph in_training_layout(Graph graph, const Constants& constants, std::string* explanation);
  Graph fused(Graph graph, const Constants& constants, std::string* explanation);
  Graph with_less_kept(Graph graph, const Constants& constants);
  Inference infer(const Graph& graph, const Constants& constants = {}) const;
  bool wants_gradients() const;
  // Decides how values are stored, and adds conversions; empty where all are dense. `wanted`: one a graph output.
  std::vector<StorageType> store(Placement& placed, const Constants& constants,
                                 std::vector<StorageType> wanted) const;
  std::vector<StorageType> wanted_storage(const Graph& graph) const;
  PlaceRequest place_request(const Graph& graph, const Constants& constants) const;
  const NDArray* array_of(const Graph& graph, NodeId variable) const;  // null for head gradients
  int argument_of(const Graph& graph, NodeId variable) const;          // -1 for others

  Runtime& runtime_;
  Symbol symbol_;
  Device device_;
  BoundArrays arrays_;
  BindOptions options_;
  Graph graph_;  // as composed
  struct Variable {
    int position;  // among the arguments, or the auxiliary states
    bool mutated;
  };
  std::map<const NodeInfo*, Variable> variables_;
  std::vector<NDArray> outputs_;
  std::vector<Ref<const NodeInfo>> heads_;  // variables of the head gradients
  std::vector<NDArray> head_gradients_;     // none where a gradient is not used
  Ref<Arena> arena_;
  Ref<Program> programs_[3];  // by mode
  // What prediction computes when an argument or auxiliary state has changed: weights as kernels want them. Versions of the
  // arrays are those that it saw last, and empty at first.
  struct Held {
    Ref<Program> program;
    Places places;
    std::vector<uint64_t> arguments, auxiliary_states;
    std::vector<std::pair<Ref<const NodeInfo>, NDArray>> values;
    std::vector<std::string> keys;      // one a value: where it is shared (HeldValues), else empty
    std::vector<char> for_other_sizes;  // one an argument
    int64_t bytes() const;
  };
  Held held_;
  Places places_[3];  // in their graphs
  struct Pass {
    Ref<Program> program;  // none: there was no pass
    bool training = true;
    bool states_updated = false;  // by a backward pass
    // Versions of the arrays when it was pushed.
    std::vector<uint64_t> arguments, auxiliary_states, outputs;
    RunMode gradient_mode() const { return training ? RunMode::training : RunMode::inference_with_gradients; }
  };
  Pass last_;
  bool inference_gradients_ = false;  // were asked for
  bool branches_chosen_ = false;      // by measurement, for prediction
  Monitor monitor_;
  Ref<DynamicGraph> dynamic_;      // what runs instead if shapes depend on data
  std::vector<NDArray> recorded_;  // its outputs, on the tape
  std::unique_ptr<PassLog> log_;   // while what is compiled is to be explained
};

}  // namespace loomix
