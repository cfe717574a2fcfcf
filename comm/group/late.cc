// SPDX-License-Identifier: Apache-2.0
// Calls that do not match, ranks that are late, and ranks that are gone.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "comm/group/node.h"

namespace loomix::comm {

const char* name_of(CallKind kind) {
  constexpr const char* kNames[] = {"all_reduce", "reduce_scatter", "broadcast", "all_gather",
                                    "all_to_all", "barrier",        "send",      "receive"};
  return kNames[static_cast<size_t>(kind)];
}

std::string CallSignature::to_string() const {
  switch (kind) {
    case CallKind::all_reduce:
    case CallKind::reduce_scatter:
      return fmt::format("{} ({}) of {} {}", name_of(kind), comm::name_of(reduction), count,
                         loomix::name_of(dtype));
    case CallKind::broadcast: return fmt::format("broadcast of {} bytes from rank {}", count, root);
    case CallKind::all_gather: return fmt::format("all_gather of {} bytes", count);
    case CallKind::send: return fmt::format("send of {} bytes to rank {}", count, root);
    case CallKind::receive: return fmt::format("receive of {} bytes from rank {}", count, root);
    default: return name_of(kind);
  }
}

std::string CallSignature::with_number(uint64_t number) const {
  if ((number & GroupCall::kSingle) != 0)
    return fmt::format("{} with tag {}", to_string(), number & ~GroupCall::kSingle);
  return fmt::format("{} {}", name_of(kind), number);
}

// Whether rank `from` made the same call as this one, as far as it is known; if not, the group is broken.
bool GroupCore::agree(GroupState& group, int from, uint64_t call, const CallSignature& what) {
  uint64_t& by = group.progress[static_cast<size_t>(from)].made;
  by = std::max(by, call);
  const auto own = group.made.find(call);
  if (own != group.made.end()) {
    if (own->second == what) return true;
    break_up(group,
             fmt::format("[comm] in call {} of a group rank {} calls {}, and rank {} calls {}; all ranks "
                         "must call the same.",
                         call, group.me, own->second.to_string(), from, what.to_string()));
    return false;
  }
  if (!group.made.empty() && call < group.made.begin()->first) return true;  // long ago
  group.told.try_emplace(call, GroupState::Told{from, what});
  return true;
}

// ---- those who are late, and those who are gone -----------------------------------------------------------------------

// `why` is empty if its program ended well.
void GroupCore::on_lost(int rank, const std::string& why) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  if (std::exchange(peer.gone, true)) return;
  peer.why = why;
  if (!why.empty()) {
    for (const auto& [id, group] : std::map(groups_)) {
      if (group->place_of(rank) >= 0) break_up(*group, "[comm] " + why + ".");
    }
  }
  look_at_ = GroupClock::now();
}

void GroupCore::look() {
  const auto now = GroupClock::now();
  for (const auto& [id, group] : std::map(groups_)) {
    for (const auto& [number, call] : std::map(group->under_way)) look_after(*group, call, now);
    for (const auto& call : std::vector(group->singles)) look_after(*group, call, now);
  }
}

// What this rank is at, for those who wait for it: after "it is".
std::string GroupCore::doing(GroupState& group) const {
  const std::shared_ptr<GroupCall> open = !group.under_way.empty() ? group.under_way.begin()->second
                                          : !group.singles.empty() ? group.singles.front()
                                                                   : nullptr;
  const std::string latest =
      group.made.empty() ? "before its first call"
                         : "at " + group.made.rbegin()->second.with_number(group.made.rbegin()->first);
  if (!open) return latest + ", in the program";
  std::string for_whom;
  for (size_t i = 0; i < open->open.size(); ++i) {
    if (open->open[i] > 0) for_whom += fmt::format("{}{}", for_whom.empty() ? " for rank " : ", ", i);
  }
  return fmt::format("{}, waiting{} in {}", latest, for_whom, open->signature.with_number(open->number));
}

std::string GroupCore::why_late(const GroupState& group, const GroupCall& call, size_t rank) const {
  const GroupState::Progress& other = group.progress[rank];
  const std::string doing = other.doing.empty() ? "" : fmt::format(" (it is {})", other.doing);
  if (call.signature.kind == CallKind::send) return fmt::format("rank {} does not receive it{}", rank, doing);
  if (call.signature.kind == CallKind::receive) return fmt::format("rank {} has not sent it{}", rank, doing);
  if (other.made >= call.number)
    return fmt::format("rank {} is in it, too, and has not sent all{}", rank, doing);
  return fmt::format("rank {} has not called it{}", rank, doing);
}

void GroupCore::look_after(GroupState& group, const std::shared_ptr<GroupCall>& call,
                           GroupClock::time_point now) {
  if (call->over) return;
  const auto deadline = group.options.deadline;
  const std::string what = call->signature.with_number(call->number);
  const auto give_up_on = [&](const std::string& reason) {
    break_up(group, fmt::format("[comm] rank {} of {} waited {:.1f} s in {}: {}.", group.me,
                                group.ranks.size(), in_seconds(now - call->since), what, reason));
  };
  size_t late = group.ranks.size();  // who is farthest behind
  for (size_t i = 0; i < group.ranks.size(); ++i) {
    if (call->open[i] == 0 || static_cast<int>(i) == group.me) continue;
    Peer& peer = peers_[static_cast<size_t>(group.ranks[i])];
    const auto is_awaited = [&](const auto& place) {
      return place.first.from == static_cast<int>(i) && place.first.call == call->number;
    };
    if (peer.gone && std::any_of(group.places.begin(), group.places.end(), is_awaited)) {
      return give_up_on(
          fmt::format("rank {} has ended; it made {} calls of this group", i, group.progress[i].made));
    }
    const auto silent = now - std::max(peer.heard, call->since);
    if (silent >= deadline) {
      return give_up_on(fmt::format("rank {} does not answer; nothing was heard of it for {:.1f} s", i,
                                    in_seconds(silent)));
    }
    GroupState::Progress& progress = group.progress[i];
    if (now - call->since >= deadline / kAsksInDeadline &&
        now - progress.asked >= deadline / kAsksInDeadline) {
      progress.asked = now;
      tell(group.ranks[i], Kind::ask, group.id, 0, {});
    }
    if (late == group.ranks.size() || progress.made < group.progress[late].made) late = i;
  }
  if (late == group.ranks.size()) return;
  if (now - call->since >= group.options.late_deadline) return give_up_on(why_late(group, *call, late));
  if (now - std::max(call->since, call->logged) >= deadline) {
    call->logged = now;
    log(LogLevel::warning,
        "[comm] rank {} of {} has waited {:.0f} s in {}: {}. It is there, so it is waited for, {:.0f} s at "
        "most "
        "(LOOMIX_KV_LATE_DEADLINE).",
        group.me, group.ranks.size(), in_seconds(now - call->since), what, why_late(group, *call, late),
        in_seconds(group.options.late_deadline));
  }
}

}  // namespace loomix::comm
