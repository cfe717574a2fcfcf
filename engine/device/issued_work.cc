// SPDX-License-Identifier: Apache-2.0
#include "engine/device/issued_work.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "engine/poison.h"

namespace loomix::engine {
namespace {

constexpr size_t kMostKept = 1024;  // behind a failure, which stays the first

bool failed(const CompletionToken& token) { return token.done() && token.error() != nullptr; }

}  // namespace

void IssuedWork::add(TokenRef token, const char* name) {
  const std::lock_guard lock(mutex_);
  while (!issued_.empty() && issued_.front().token->done() && !failed(*issued_.front().token))
    issued_.pop_front();
  // Behind work that is only late none may be missing: else what comes after it would be taken for the first that failed.
  if (issued_.size() < kMostKept || !failed(*issued_.front().token))
    issued_.push_back({std::move(token), name});
}

std::string IssuedWork::suspects(Device device) const {
  const std::lock_guard lock(mutex_);
  const CompletionToken* first = nullptr;
  std::vector<std::string> names;  // of what one event stood for
  for (const Item& item : issued_) {
    const CompletionToken& token = *item.token;
    if (token.queue().device() != device || !failed(token)) continue;
    if (first == nullptr) first = &token;
    if (token.error() == first->error() && std::ranges::find(names, item.name) == names.end())
      names.push_back(item.name);
  }
  if (first == nullptr) return {};
  std::string text = "the first work to fail on " + device.to_string() + " was ";
  if (names.size() > 1) text += "one of ";
  for (const std::string& name : names) text += (&name == &names.front() ? "" : ", ") + name;
  return text;
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
    for (const Item& item : issued_) {
      if (item.token->queue().device() == device) last = item.token;
    }
  }
  if (last) last->wait();
  return Poison(std::move(error), suspects(device)).error();
}

}  // namespace loomix::engine
