// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbol/executor/bound_executor.h"

namespace loomix {

class DynamicGraph;

// A symbol that is called like an operator: what a hybridized block runs. Each signature (shapes, types, devices, wanted
// gradients, mode) is compiled when it first comes; later calls push prepared operators. The tape records a call as one
// node, whose gradient runs the compiled backward pass.
//
// A recorded call owns its executor until the tape lets go of the node, so that several calls may wait for their
// backward passes; executors that are free again serve later calls of their signature. Calls may come from several
// threads.
class CachedGraph final : public RefCounted {
 public:
  // A graph of at most `inline_limit` operators is recorded operator by operator, so that its gradients have gradients.
  static Ref<CachedGraph> make(Runtime& runtime, const Symbol& symbol, std::string name,
                               PlanOptions plan = {}, size_t inline_limit = 0);
  ~CachedGraph() override;

  // Arrays in the order of symbol().list_inputs(); those that operators change are changed. Returns new arrays.
  std::vector<NDArray> call(std::span<const NDArray> inputs);

  const Symbol& symbol() const { return symbol_; }
  // Signatures that are compiled now.
  size_t num_signatures() const;
  // Executors that were made for them: more than one where several recorded calls were alive at once.
  size_t num_executors() const;
  // Of the last call's signature; nothing before the first call. See BoundExecutor::explanation. It has the times of a call
  // whose executor is free again.
  std::optional<Explanation> explanation(bool compare_strategies);
  // For the executors of calls from now on.
  void set_monitor(Monitor monitor);

  // Of those signatures, the one that was not called for longest is forgotten when another comes.
  static constexpr size_t kMostSignatures = 64;

 private:
  class Call;
  struct Signature {
    std::vector<Shape> shapes;  // one an input
    std::vector<DType> dtypes;
    std::vector<Device> devices;
    std::vector<ops::Req> requests;  // one an argument
    RunMode mode = RunMode::inference;
    friend bool operator==(const Signature&, const Signature&) = default;
  };
  // The executors of a signature.
  struct Compiled {
    Signature signature;
    std::mutex mutex;
    std::vector<Ref<BoundExecutor>> free;
    size_t made = 0;
  };
  using CompiledRef = std::shared_ptr<Compiled>;

  CachedGraph(Runtime& runtime, Symbol symbol, std::string name, PlanOptions plan);
  Signature signature_of(std::span<const NDArray> inputs, bool recording) const;
  CompiledRef find(Signature signature);
  Ref<BoundExecutor> take(Compiled& compiled, std::span<const NDArray> inputs);
  Ref<BoundExecutor> bind(const Signature& signature, std::span<const NDArray> inputs,
                          bool plan_only = false) const;
  void put_in_place(BoundExecutor& executor, std::span<const NDArray> inputs) const;
  void check(std::span<const NDArray> inputs) const;

  Runtime& runtime_;
  Symbol symbol_;
  std::string name_;
  PlanOptions plan_;
  struct Input {
    std::string name;
    size_t position;  // among the arguments, or the auxiliary states
    bool mutated;
  };
  std::vector<Input> inputs_;
  std::vector<size_t> arguments_;    // their places among the inputs
  Ref<DynamicGraph> dynamic_;        // what runs instead if shapes depend on data
  Ref<DynamicGraph> inlined_;        // what runs instead while the tape records, of a short graph
  mutable std::mutex mutex_;         // of what follows
  std::list<CompiledRef> compiled_;  // the last called first
  Monitor monitor_;
};

}  // namespace loomix
