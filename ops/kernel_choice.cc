// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel_choice.h"

#include <algorithm>

#include "base/inline_vector.h"

namespace loomix::ops {
namespace {

using Words = InlineVector<int64_t, 40>;

void append(std::span<const TensorView> views, Words& words) {
  for (const TensorView& view : views) {
    words.push_back(static_cast<int64_t>(view.dtype) * 1024 + view.shape.ndim());
    words.append(view.shape.begin(), view.shape.end());
  }
}

constexpr double kNsPerCore = 10'000;  // work below this is not worth another core

// Everything that a choice may depend on.
void append(const KernelSpec& spec, const ChoiceContext& context, Words& words) {
  words.push_back(static_cast<int64_t>(context.device) * 4096 + context.cores * 2 + (spec.training ? 1 : 0));
  words.push_back(static_cast<int64_t>(spec.in.size()));
  append(spec.in, words);
  append(spec.out, words);
  for (const Req req : spec.req) words.push_back(static_cast<int64_t>(req));
  for (const StorageType stype : spec.stypes) words.push_back(static_cast<int64_t>(stype));
}

uint64_t hash_of(const Words& words) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const int64_t word : words) {
    hash = (hash ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

bool all_dense(const KernelSpec& spec) {
  return std::all_of(spec.stypes.begin(), spec.stypes.end(),
                     [](StorageType stype) { return stype == StorageType::dense; });
}

}  // namespace

namespace {

void prepare(const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec, KernelChoice& choice) {
  if (choice.kernel->prepare) {
    choice.state = choice.kernel->prepare(op, attrs, spec);
    choice.scratch_bytes = choice.state->scratch_bytes;
    if (choice.state->cost_ns >= 0) choice.cost_ns = choice.state->cost_ns;
  } else if (choice.kernel->scratch) {
    choice.scratch_bytes = choice.kernel->scratch(attrs, spec);
  }
}

// `fill` with the spec for the cores that the work is worth. One core, the usual case, needs no copy of the spec.
template <class Fill>
KernelChoice choose_cores(const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec,
                          const ChoiceContext& context, Fill&& fill) {
  KernelChoice choice;
  choice.cost_ns = op.estimate_ns(attrs, spec);
  choice.cores = static_cast<int>(std::clamp<double>(choice.cost_ns / kNsPerCore, 1, context.cores));
  if (choice.cores == spec.cores) {
    fill(spec, choice);
  } else {
    KernelSpec on_cores = spec;
    on_cores.cores = choice.cores;
    fill(on_cores, choice);
  }
  return choice;
}

}  // namespace

KernelChoice prepare_kernel(const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec,
                            const ChoiceContext& context) {
  return choose_cores(op, attrs, spec, context, [&](const KernelSpec& on_cores, KernelChoice& choice) {
    choice.kernel = op.find_kernel(attrs, on_cores, context.device, context.listener);
    if (choice.kernel) [[likely]]
      prepare(op, attrs, on_cores, choice);
    else if (all_dense(on_cores)) op.choose(attrs, on_cores, context.device);  // throws, with the refusals
  });
}

KernelChoice prepare_kernel(const Kernel& kernel, const OpDef& op, const AttrsBase& attrs,
                            const KernelSpec& spec, const ChoiceContext& context) {
  return choose_cores(op, attrs, spec, context, [&](const KernelSpec& on_cores, KernelChoice& choice) {
    choice.kernel = &kernel;
    prepare(op, attrs, on_cores, choice);
  });
}

struct KernelCache::Entry {
  const OpDef* op = nullptr;
  const AddedKernels* added = nullptr;  // a later module may bring a better kernel
  Ref<const AttrsBase> attrs;
  uint64_t hash = 0;
  uint64_t last_use = 0;
  std::vector<int64_t> words;
  KernelChoice choice;
};

KernelCache::KernelCache() : entries_(kSets * kWays) {}
KernelCache::~KernelCache() = default;

KernelChoice KernelCache::get(const OpDef& op, const Ref<const AttrsBase>& attrs, const KernelSpec& spec,
                              const ChoiceContext& context) {
  Words words;
  append(spec, context, words);
  const uint64_t hash = hash_of(words) ^ attrs->hash() ^ (reinterpret_cast<uint64_t>(&op) >> 4);
  const std::span<Entry> set(&entries_[hash % kSets * kWays], kWays);
  const AddedKernels* const added = op.added_kernels();
  for (Entry& entry : set) {
    if (entry.hash != hash || entry.op != &op || entry.added != added || !(*entry.attrs == *attrs) ||
        !std::ranges::equal(entry.words, words))
      continue;
    entry.last_use = ++clock_;
    return entry.choice;
  }
  ++prepared_;
  KernelChoice choice = prepare_kernel(op, *attrs, spec, context);
  Entry& oldest = *std::ranges::min_element(set, {}, &Entry::last_use);
  oldest = {&op, added, attrs, hash, ++clock_, {words.begin(), words.end()}, choice};
  return choice;
}

}  // namespace loomix::ops
