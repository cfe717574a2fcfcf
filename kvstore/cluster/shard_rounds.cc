// SPDX-License-Identifier: Apache-2.0
// How rounds of pushes become new values.
#include <algorithm>

#include "kvstore/cluster/shard_group.h"
#include "kvstore/combine.h"
#include "ndarray/copy.h"
#include "symbol/executor/run_node.h"

namespace loomix::kvstore {

DType ShardGroup::dtype_of_sum(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 ? DType::float32 : dtype;
}

bool ShardGroup::is_complete(const Round& round) const {
  for (size_t worker = 0; worker < round.came.size(); ++worker) {
    if (!round.came[worker] && counts(worker)) return false;
  }
  return true;
}

// All of it that is kept as it came.
std::vector<ShardGroup::Given> ShardGroup::take_given(Round& round) {
  std::vector<Given> all = std::move(round.given);
  std::erase_if(all, [](const Given& one) { return !one.there; });
  for (const Given& one : all) held_ -= one.bytes.size();
  return all;
}

// One that comes when larger ranks have been added, since it did not count for a while, is added after them.
void ShardGroup::add_prefix(const ShardId& id, ShardValue& shard, int64_t number, Round& round) {
  const auto is_rows = [](const Given& one) { return one.packing.form == Packing::Form::rows; };
  while (round.next < round.came.size()) {
    const Given& one = round.given[round.next];
    if (one.there ? is_rows(one) : counts(round.next)) break;
    ++round.next;
  }
  // One alone waits for the next, which saves reading it twice, unless much is kept.
  add_to_sum(id, shard, number, round, round.next, held_ > held_limit() ? 1 : 2);
}

// The pushes of ranks below, if with the sum so far they are `least` terms.
void ShardGroup::add_to_sum(const ShardId& id, ShardValue& shard, int64_t number, Round& round, size_t below,
                            size_t least) {
  std::vector<Given*> now;
  for (size_t worker = 0; worker < below; ++worker) {
    if (round.given[worker].there) now.push_back(&round.given[worker]);
  }
  if (now.empty() || now.size() + (round.sum.is_none() ? 0 : 1) < least) return;
  const Request request(runtime_, "kvstore_round", key_of_wire(id.first), 0);
  std::vector<NDArray> terms;
  if (!round.sum.is_none()) terms.push_back(round.sum);
  for (Given* const one : now) {
    terms.push_back(gradient(request, shard, *one));
    held_ -= one->bytes.size();
    *one = {};
  }
  if (round.sum.is_none()) begin_sum(shard, number, round);
  combine(request, terms, {&round.sum, 1});
}

// In the memory of the next version, if it can be: the version before it is then gone. A worker that was started again and repeats a
// round asks for that one, but only while nobody is a round further; who has pushed to the next round has seen all of the one before.
void ShardGroup::begin_sum(ShardValue& shard, int64_t number, Round& round) {
  const NDArray& next = shard.value[1 - shard.newest];
  round.in_place = !optimizer_ && number == shard.version + 1 && dtype_of_sum(next.dtype()) == next.dtype();
  if (round.in_place) shard.has_previous = false;
  round.sum = round.in_place
                  ? next
                  : NDArray(runtime_.engine(), next.shape(), dtype_of_sum(next.dtype()), Device::cpu());
}

bool ShardGroup::holds(const ShardId& shard, size_t worker, int64_t number) const {
  const auto found = shards_.find(shard);
  if (found == shards_.end()) return false;
  const auto round = found->second.rounds.find(number);
  if (round == found->second.rounds.end() || worker < round->second.next ||
      worker >= round->second.given.size())
    return false;
  const Given& given = round->second.given[worker];
  return given.there &&
         given.packing.form != Packing::Form::rows;  // these wait for the round's end, not for smaller ranks
}

bool ShardGroup::must_wait(const ShardId& shard, size_t worker, int64_t number) const {
  const auto engine_is_late = [this] { return backlog_->bytes() > held_ + kMostForEngine; };
  if (engine_is_late()) {
    backlog_->tell_when_less();
    if (engine_is_late()) return true;
  }
  return held_ > held_limit() && holds(shard, worker, number);
}

void ShardGroup::complete_rounds(const ShardId& id, ShardValue& shard) {
  while (!shard.rounds.empty()) {
    const auto first = shard.rounds.begin();
    if (first->first <= shard.version) {  // of a worker that was left out of it
      take_given(first->second);
      shard.rounds.erase(first);
      continue;
    }
    if (first->first != shard.version + 1 || !is_complete(first->second)) return;
    if (waits_for_norm(id, first->first)) return close_round(id, shard, first->first, first->second);
    const Request request(runtime_, "kvstore_round", key_of_wire(id.first), 0);
    const std::vector<Given> given = take_given(first->second);
    NDArray sum = first->second.sum;
    if (first->second.in_place && optimizer_) sum = copy_to(sum, Device::cpu());  // one that came meanwhile
    shard.rounds.erase(first);
    update(request, id, shard, sum, given);
    keep_for_cut(id, shard);
  }
}

NDArray ShardGroup::gradient(const Request& request, const ShardValue& shard, const Given& given) const {
  return unpack(request, runtime_.engine(), given.packing, given.bytes, shard.value[0].size(),
                shard.value[0].dtype());
}

bool ShardGroup::has_rows_only(const ShardValue& shard, const NDArray& sum,
                               std::span<const Given> given) const {
  const Given* first = nullptr;
  for (const Given& one : given) {
    if (!one.there) continue;
    if (first == nullptr) first = &one;
    if (one.packing.form != Packing::Form::rows || one.packing.detail != first->packing.detail) return false;
  }
  return first != nullptr && sum.is_none() && optimizer_ && optimizer_->by_rows(shard.value[0].dtype());
}

NDArray ShardGroup::merge_rows(const Request& request, const ShardValue& shard,
                               std::span<const Given> given) const {
  const NDArray& value = shard.value[0];
  const int64_t rows = value.size() / given[0].packing.detail;
  std::vector<NDArray> gradients;
  for (const Given& one : given)
    gradients.push_back(unpack_rows(request, runtime_.engine(), one.packing, one.bytes, rows, value.dtype()));
  if (gradients.size() == 1) return gradients[0];
  NDArray merged = NDArray::sparse(runtime_.engine(), StorageType::row_sparse, gradients[0].shape(),
                                   value.dtype(), Device::cpu());
  combine_rows(request, gradients, merged);
  return merged;
}

NDArray ShardGroup::merge(const Request& request, const ShardValue& shard, const NDArray& sum,
                          std::span<const Given> given) const {
  if (has_rows_only(shard, sum, given)) return merge_rows(request, shard, given);
  std::vector<NDArray> gradients;
  if (!sum.is_none()) gradients.push_back(sum);
  for (const Given& one : given) gradients.push_back(gradient(request, shard, one));
  const DType own = shard.value[0].dtype();
  const DType dtype = optimizer_ ? optimizer_->gradient_dtype(own) : own;
  NDArray merged = gradients[0];
  if (gradients.size() == 1 && merged.dtype() == dtype) return merged;
  if (sum.is_none() || sum.dtype() != dtype)
    merged = NDArray(runtime_.engine(), merged.shape(), dtype, Device::cpu());
  combine(request, gradients, {&merged, 1});
  return merged;
}

void ShardGroup::update(const Request& request, const ShardId& id, ShardValue& shard, const NDArray& sum,
                        std::span<const Given> given) {
  const NDArray& now = shard.value[shard.newest];
  const NDArray& next = shard.value[1 - shard.newest];
  const bool clipped = limit_.concerns(id.first) && scale_ < 1;
  if (!optimizer_ && !clipped) {  // the sum goes straight to where the value will be
    std::vector<NDArray> gradients;
    if (!sum.is_none()) gradients.push_back(sum);
    for (const Given& one : given) gradients.push_back(gradient(request, shard, one));
    const bool is_there = gradients.size() == 1 && &gradients[0].storage() == &next.storage();
    if (!is_there) combine(request, gradients, {&next, 1});
  } else {
    NDArray merged = merge(request, shard, sum, given);
    if (clipped)
      merged = run_node(runtime_, "_mul_scalar", {merged}, {{"scalar", fmt::format("{}", scale_)}})[0];
    if (optimizer_) optimizer_->update(key_of_wire(id.first), now, merged, next, shard.optimizer, 0);
    else combine(request, {&merged, 1}, {&next, 1});
  }
  shard.newest = 1 - shard.newest;
  shard.has_previous = true;
  ++shard.version;
}

}  // namespace loomix::kvstore
