// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/update_calls.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/device/device_runtime.h"

namespace loomix {

void UpdateCalls::begin(NDArray factor) {
  factor_ = std::move(factor);
  is_closed_ = false;
  calls_.clear();
  outer_ = collect_calls(this);
}

void UpdateCalls::end() {
  collect_calls(outer_);
  push();
}

bool UpdateCalls::take(const Ref<OpCall>& call) {
  const bool fits = call && call->repeats_its_work() && call->is_in_place() &&
                    (calls_.empty() || calls_[0]->device() == call->device()) &&
                    runtime_.engine().device(call->device()).traits().records_work;
  if (fits && !is_closed_) {
    calls_.push_back(call);
    return true;
  }
  LOOMIX_CHECK(factor_.is_none(), NotImplementedError,
               "[amp] {} cannot follow a loss scale on the device; expected an update of a dense array by a "
               "kernel of the device.",
               call ? call->op().name : "an operator on sparse arrays");
  push();
  is_closed_ = true;
  return false;
}

// They run one after the other, so what the largest needs is enough for all. It stays, as it is in what is recorded.
void UpdateCalls::share_scratch() {
  size_t bytes = 0;
  for (const Ref<OpCall>& call : calls_) {
    if (call->takes_scratch()) bytes = std::max(bytes, call->scratch_bytes());
  }
  if (bytes == 0) return;
  const Device device = calls_[0]->device();
  if (scratch_.is_none() || scratch_.device() != device || static_cast<size_t>(scratch_.bytes()) < bytes)
    scratch_ = NDArray(runtime_.engine(), Shape{static_cast<int64_t>(bytes)}, DType::uint8, device);
  for (const Ref<OpCall>& call : calls_) {
    if (call->takes_scratch()) call->keep_scratch(scratch_);
  }
}

void UpdateCalls::push() {
  if (calls_.empty()) return;
  share_scratch();
  const auto resembles = [](const Ref<OpCall>& a, const Ref<OpCall>& b) { return a->resembles(*b); };
  const auto same = [](const Ref<OpCall>& a, const Ref<OpCall>& b) {
    return a->repeats(*b) && a->attrs() == b->attrs();
  };
  const bool same_factor = factor_.is_none() == factor_before_.is_none() &&
                           (factor_.is_none() || factor_.view().data == factor_before_.view().data);
  const bool again = bulk_ && std::ranges::equal(calls_, before_, resembles);
  if (!again || !same_factor || !std::ranges::equal(calls_, before_, same)) {
    std::vector<Bulk::Part> parts;
    for (const Ref<OpCall>& call : calls_) parts.push_back({call, 0});
    bulk_ = Bulk::make_updates(runtime_.engine(), std::move(parts), again ? bulk_.get() : nullptr, factor_);
    before_ = calls_;
    factor_before_ = factor_;
  }
  calls_.clear();
  bulk_->push({});
}

}  // namespace loomix
