// SPDX-License-Identifier: Apache-2.0
// Rounds whose gradients are clipped by their norm.
#include <cmath>

#include "base/error.h"
#include "kvstore/cluster/shard_group.h"
#include "kvstore/norm.h"

namespace loomix::kvstore {
namespace {

constexpr int64_t kMostShards = int64_t{1} << 32;
constexpr double kTiny = 1e-8;  // as workers' clip_global_norm has it

}  // namespace

void NormLimit::write(messages::NormLimit& message) const {
  message.set_most(most);
  message.mutable_shards()->Assign(shards.begin(), shards.end());
  for (const auto& [name, count] : keys) {
    messages::NormLimit::Key& key = *message.add_keys();
    key.set_key(name);
    key.set_shards(count);
  }
}

NormLimit NormLimit::read(const messages::NormLimit& message) {
  NormLimit limit;
  limit.most = message.most();
  LOOMIX_CHECK(std::isfinite(limit.most) && limit.most > 0, NetworkError,
               "[KVStore] a NormLimit is {}; expected a number above 0.", limit.most);
  for (const int64_t count : message.shards())
    limit.shards.push_back(in_range("NormLimit.shards", count, 0, kMostShards));
  for (const messages::NormLimit::Key& key : message.keys())
    limit.keys[key.key()] = in_range("NormLimit.Key.shards", key.shards(), 1, kMostShards);
  return limit;
}

ShardGroup::Check ShardGroup::check_limit(const messages::Request& entry) const {
  const NormLimit limit = NormLimit::read(entry.norm_limit());
  int64_t own = 0;
  for (const auto& [key, count] : limit.keys) own += count;
  LOOMIX_CHECK(entry.group() < limit.shards.size() && limit.shards[entry.group()] == own, NetworkError,
               "[KVStore] a NormLimit does not say how many shards group {} has.", entry.group());
  if (limit.same(limit_)) return {Verdict::again, {}};
  if (limit_.most > 0) {
    return {Verdict::refuse,
            fmt::format(
                "the norm of the gradients of {} keys is limited to {} already; a limit holds as long as the "
                "cluster, and its snapshots, and is the same at all workers.",
                limit_.keys.size(), limit_.most)};
  }
  std::optional<int64_t> version;
  for (const auto& [id, shard] : shards_) {
    if (!limit.concerns(id.first)) continue;
    if (setup_.mode != Mode::sync)
      return {Verdict::refuse, "only dist_sync has rounds, whose norm can be limited."};
    if (!shard.rounds.empty() || shard.version != version.value_or(shard.version)) {
      return {Verdict::refuse,
              fmt::format("key {} has been pushed to; the limit of the norm comes before the first push.",
                          to_text(key_of_wire(id.first)))};
    }
    version = shard.version;
  }
  return {Verdict::apply, {}};
}

void ShardGroup::set_limit(const messages::NormLimit& message) {
  limit_ = NormLimit::read(message);
  note_round_of_limit();
}

void ShardGroup::note_round_of_limit() {
  for (const auto& [id, shard] : shards_) {
    if (limit_.concerns(id.first)) limit_.round = shard.version;
  }
}

bool ShardGroup::waits_for_norm(const ShardId& id, int64_t round) const {
  return limit_.concerns(id.first) && round > limit_.round;
}

// All pushes are there; nothing is added any more.
void ShardGroup::close_round(const ShardId& id, ShardValue& shard, int64_t number, Round& round) {
  if (limit_.next.contains(id)) return;
  const Request request(runtime_, "kvstore_norm", key_of_wire(id.first), 0);
  if (!has_rows_only(shard, round.sum, round.given)) add_to_sum(id, shard, number, round, round.given.size());
  std::vector<Given> given;
  for (const Given& one : round.given) {
    if (one.there) given.push_back(one);
  }
  limit_.next[id] = sum_of_squares(request, merge(request, shard, round.sum, given));
}

std::optional<std::vector<NDArray>> ShardGroup::squares_of_next_round(size_t group) const {
  if (!limit_.next_is_there(group)) return std::nullopt;
  std::vector<NDArray> squares;
  for (const auto& [id, square] : limit_.next) squares.push_back(square);
  return squares;
}

// The sums of squares are added in the order of groups, so all of them find the same norm.
void ShardGroup::apply_norm(size_t group, const messages::Norm& norm) {
  if (norm.round() != limit_.round + 1) return;
  const auto groups = static_cast<int64_t>(limit_.shards.size());
  in_range("Norm.squares, counted,", norm.squares_size(), groups, groups);
  limit_.squares = norm.squares(static_cast<int>(group));
  double all = 0;
  for (const double squares : norm.squares()) all += squares;
  // Where the norm is no number, that of one key, say, is none, and it is left to that key alone.
  scale_ = std::isfinite(all) ? std::min(1.0, limit_.most / (std::sqrt(all) + kTiny)) : 1.0;
  ++limit_.round;
  limit_.next.clear();
  for (auto& [id, shard] : shards_) {
    if (limit_.concerns(id.first)) complete_rounds(id, shard);
  }
}

}  // namespace loomix::kvstore
