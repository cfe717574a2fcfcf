// SPDX-License-Identifier: Apache-2.0
#include "engine/device/completion_token.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "engine/futex.h"

namespace loomix::engine {

bool CompletionToken::subscribe(Callback callback) {
  bool first = false;
  {
    const std::lock_guard lock(lock_);
    if (done_.load(std::memory_order_relaxed)) return false;
    callbacks_.push_back(std::move(callback));
    first = !std::exchange(watched_, true);
  }
  if (first) watch();
  return true;
}

void CompletionToken::complete(std::exception_ptr error) noexcept {
  const TokenRef alive(this);
  std::vector<Callback> callbacks;
  {
    const std::lock_guard lock(lock_);
    if (done_.load(std::memory_order_relaxed)) return;
    error_ = std::move(error);
    callbacks.swap(callbacks_);
    done_.store(true, std::memory_order_release);
  }
  for (Callback& callback : callbacks) callback();
}

void CompletionToken::wait() {
  std::atomic<uint32_t> finished{0};
  if (!subscribe([&finished] {
        finished.store(1, std::memory_order_release);
        futex_wake(finished, 1);
      })) {
    return;
  }
  while (finished.load(std::memory_order_acquire) == 0) futex_wait(finished, 0);
}

void TokenSet::set_writer(TokenRef token) {
  writer_ = std::move(token);
  readers_.clear();
}

void TokenSet::add_reader(TokenRef token) {
  for (TokenRef& reader : readers_) {
    if (reader->done() || &reader->queue() == &token->queue()) {
      reader = std::move(token);
      return;
    }
  }
  readers_.push_back(std::move(token));
}

void TokenSet::add_pending(std::vector<TokenRef> tokens) {
  const auto done = [](const TokenRef& token) { return token->done(); };
  std::erase_if(readers_, done);
  std::erase_if(tokens, done);
  std::move(tokens.begin(), tokens.end(), std::back_inserter(readers_));
}

void TokenSet::clear() noexcept {
  writer_.reset();
  readers_.clear();
}

void TokenSet::collect(bool exclusive, std::vector<TokenRef>& pending) const {
  if (writer_ && !writer_->done()) pending.push_back(writer_);
  if (!exclusive) return;
  for (const TokenRef& reader : readers_) {
    if (!reader->done()) pending.push_back(reader);
  }
}

bool TokenSet::pending(bool exclusive) const noexcept {
  if (writer_ && !writer_->done()) return true;
  if (!exclusive) return false;
  for (const TokenRef& reader : readers_) {
    if (!reader->done()) return true;
  }
  return false;
}

const CompletionToken* TokenSet::failed_writer() const noexcept {
  return writer_ && writer_->done() && writer_->error() ? writer_.get() : nullptr;
}

}  // namespace loomix::engine
