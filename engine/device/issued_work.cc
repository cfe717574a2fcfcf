// SPDX-License-Identifier: Apache-2.0
#include "engine/device/issued_work.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "engine/poison.h"

namespace loomix::engine {
namespace {

constexpr size_t kMostKept = 64;  // behind a failure, whose tokens are fewer

bool failed(const CompletionToken& token) { return token.done() && token.error() != nullptr; }

}  // namespace

void IssuedWork::add(TokenRef token, const char* name) {
  const std::lock_guard lock(mutex_);
  std::deque<Item>& items = issued_[token->queue().device()];
  while (!items.empty() && items.front().token->done() && !failed(*items.front().token)) items.pop_front();
  if (items.empty() || !failed(*items.front().token) || items.size() < kMostKept)
    items.push_back({std::move(token), name});
}

std::string IssuedWork::suspects(Device device) const {
  const std::lock_guard lock(mutex_);
  const auto found = issued_.find(device);
  if (found == issued_.end()) return {};
  const std::deque<Item>& items = found->second;
  const auto first = std::ranges::find_if(items, [](const Item& item) { return failed(*item.token); });
  if (first == items.end()) return {};
  std::vector<std::string> names;  // of what one event stood for
  for (auto item = first; item != items.end() && item->token->done(); ++item) {
    if (item->token->error() == first->token->error() && std::ranges::find(names, item->name) == names.end())
      names.push_back(item->name);
  }
  return fmt::format("the first work to fail on {} was {}{}", device.to_string(),
                     names.size() > 1 ? "one of " : "", fmt::join(names, ", "));
}

std::exception_ptr IssuedWork::with_suspects(std::exception_ptr error, Device device) const {
  try {
    std::rethrow_exception(error);
  } catch (const DeviceError&) {
  } catch (...) {
    return error;
  }
  TokenRef last;
  {
    const std::lock_guard lock(mutex_);
    const auto found = issued_.find(device);
    if (found != issued_.end() && !found->second.empty()) last = found->second.back().token;
  }
  if (last) last->wait();
  return Poison(std::move(error), suspects(device)).error();
}

}  // namespace loomix::engine
