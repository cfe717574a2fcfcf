// SPDX-License-Identifier: Apache-2.0
#include "engine/var.h"

#include <mutex>
#include <utility>

#include "engine/block_cache.h"
#include "engine/device/completion_token.h"

namespace loomix::engine {

static_assert(sizeof(Var) == 64);

Var::Var() noexcept = default;
Var::~Var() {
  if (poison_) set_poison({});
}

void Var::set_poison(Ref<Poison> poison) noexcept {
  if (poison_) poison_->count_var(-1);
  poison_ = std::move(poison);
  if (poison_) poison_->count_var(1);
}

std::vector<TokenRef> Var::pending_tokens() const {
  std::vector<TokenRef> pending;
  const std::lock_guard lock(lock_);
  if (tokens_) tokens_->collect(true, pending);
  return pending;
}

void Var::add_pending(std::vector<TokenRef> tokens) {
  if (tokens.empty()) return;
  const std::lock_guard lock(lock_);
  if (!tokens_) tokens_ = std::make_unique<TokenSet>();
  tokens_->add_pending(std::move(tokens));
}

void* Var::operator new(size_t) { return BlockCache<sizeof(Var)>::allocate(); }
void Var::operator delete(void* memory) noexcept { BlockCache<sizeof(Var)>::free(memory); }

}  // namespace loomix::engine
