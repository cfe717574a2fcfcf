// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/node.h"
#include "kvstore/cluster/messages.pb.h"

// Who is in the cluster, as the scheduler says: every change has a number.
namespace loomix::kvstore {

// What happens when a worker dies: everything fails with its name, waits for it to come back, or goes on without it.
enum class DeadWorker : uint8_t { fail, wait, go_on };

struct Member {
  comm::NodeId id;  // incarnation 0: not seen yet
  std::string address;
  bool up = false;
  bool departed = false;  // it said goodbye, and nobody waits for it
  // Its life: the number of the view with which the scheduler let it in. Of two processes with one name the larger counts. A worker
  // that the others went on without is let in anew when it comes back, so groups agree about who counts, whichever views they
  // have seen.
  int64_t since = 0;
  bool operator==(const Member&) const = default;
};

// Whether a cluster goes on, as one of its nodes knows.
struct Standing {
  bool ended = false;   // all workers have left
  std::string failure;  // not empty: nothing goes on, and why
  bool told = true;     // a scheduler's: all who are there know of the failure
};

// A server in the chain of a group. The head orders what happens; each tells the next. One that is not synchronised is the
// last one and still gets its state; nobody relies on it.
struct Link {
  int32_t server = 0;
  bool synchronised = false;
  int64_t since = 0;  // the view with which it came into the chain
  bool operator==(const Link&) const = default;
};
using Chain = std::vector<Link>;

// Views are ordered by their scheduler's epoch, and by number within it. Both are in one number: the epoch counts these.
inline constexpr int64_t kEpoch = int64_t{1} << 32;
// The least number of a scheduler that has heard of this view.
inline int64_t next_epoch(int64_t number) { return (number / kEpoch + 1) * kEpoch; }

struct View {
  int64_t number = 0;  // 0: the cluster is not complete yet
  DeadWorker policy = DeadWorker::fail;
  std::vector<Member> servers;  // by rank
  std::vector<Member> workers;
  std::vector<Chain> chains;  // by group; there are as many groups as servers
  int64_t barriers = 0;       // passed so far
  std::string failure;        // not empty: nothing goes on, and why
  bool ended = false;         // all workers have left

  int32_t head(size_t group) const { return chains[group].front().server; }
  const Member& head_member(size_t group) const { return servers[static_cast<size_t>(head(group))]; }
  // Position in the chain of a group, or -1.
  int position(size_t group, int32_t server) const;
};

// The latest view, and with which view each part of it changed last: nodes are told only what they do not know.
class ViewChanges {
 public:
  ViewChanges() = default;
  explicit ViewChanges(const View& view);  // all of it has changed
  void note(const View& view);             // a newer one
  // What makes this view of the one with the number, and of all between; 0: of any.
  messages::View since(int64_t number) const;

 private:
  View view_;
  std::vector<int64_t> servers_, workers_, chains_;
};
// Makes `view` what the message tells. False: it is not newer, or tells changes of a view that is. Throws NetworkError for what is
// no view.
bool follow(View& view, const messages::View& told);

}  // namespace loomix::kvstore
