// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/group/links.h"
#include "comm/process_group.h"

// What is behind process groups. One thread of a process talks to all other ranks and owns all that is said to be its own here; calls
// post commands to it, and end on it. So no caller waits, and groups never wait for each other.
//
// A message is a post, which says what it is, and if it is long a body, which the receiver meets when it knows where to. A rank whose
// call is not made yet keeps the posts of others. Each post of a collective call says the whole call, so two that do not match
// are noticed when the first one meets the other. Calls of a group are numbered, and parts of a call, too, so nothing depends on order.
//
// Who waits for a rank asks it now and then how many calls of the group it has made. One that does not answer breaks the group at the
// deadline, one that answers is late, and has a deadline of its own. A group that breaks tells all its ranks.
namespace loomix::comm {

using GroupClock = std::chrono::steady_clock;

enum class CallKind : uint8_t {
  all_reduce,
  reduce_scatter,
  broadcast,
  all_gather,
  all_to_all,
  barrier,
  send,
  receive
};
const char* name_of(CallKind kind);

inline double in_seconds(GroupClock::duration time) { return std::chrono::duration<double>(time).count(); }

// What all ranks must agree on.
struct CallSignature {
  CallKind kind = CallKind::barrier;
  DType dtype = DType::uint8;
  Reduction reduction = Reduction::sum;
  int32_t root = -1;   // of a single message: the other rank
  uint64_t count = 0;  // of elements or bytes

  bool operator==(const CallSignature&) const = default;
  std::string to_string() const;                   // "all_reduce of 4 float32"
  std::string with_number(uint64_t number) const;  // "all_reduce 17"
};

class GroupState;

// A call under way. The node's thread.
class GroupCall : public std::enable_shared_from_this<GroupCall> {
 public:
  GroupCall(const CallSignature& what, ProcessGroup::Done ending)
      : signature(what), since(GroupClock::now()), done(std::move(ending)) {}
  virtual ~GroupCall() = default;
  // Begins to send and receive. The call ends when all of that is done, and what was begun meanwhile.
  virtual void start() = 0;

  const CallSignature signature;
  const GroupClock::time_point since;
  GroupState* group = nullptr;
  class GroupCore* core = nullptr;
  uint64_t number = 0;  // of calls of the group; of single messages their tag, with kSingle
  bool over = false;
  std::vector<int> open;  // by rank: what is not done
  int all_open = 0;
  ProcessGroup::Done done;
  GroupClock::time_point logged;

  static constexpr uint64_t kSingle = uint64_t{1} << 63;

 protected:
  using After = engine::InlineFunction<void(), 48>;
  int ranks() const;
  int me() const;
  void send(int to, uint32_t part, const void* data, size_t bytes, After after = {});
  void receive(int from, uint32_t part, void* data, size_t bytes, After after = {});
  void send_parts(int to, PartsRef parts);
  void receive_parts(int from, PartsRef parts);
};

// A group as one rank has it.
class GroupState {
 public:
  GroupState(uint64_t name, std::vector<int> members, int own, const GroupOptions& given)
      : id(name), ranks(std::move(members)), me(own), options(given) {
    traffic.sent.resize(ranks.size());
    traffic.received.resize(ranks.size());
  }

  const uint64_t id;
  const std::vector<int> ranks;  // as they are called in the job
  const int me;
  const GroupOptions options;

  std::mutex mutex;  // guards the next four
  uint64_t calls = 0;
  std::map<std::vector<int>, uint64_t> subgroups;  // how many of these ranks were made
  std::string broken;
  GroupTraffic traffic;

  // Of the node's thread.
  struct Key {
    int from;
    uint64_t call;
    uint32_t part;
    auto operator<=>(const Key&) const = default;
  };
  struct Body {  // that has been told of
    uint64_t bytes, number;
    std::string here;  // a short one
  };
  struct Place {
    std::shared_ptr<GroupCall> call;
    std::span<std::byte> memory;
    PartsRef parts;  // instead of memory
    GroupLinks::Finished finished;
    size_t bytes() const { return parts ? parts->bytes() : memory.size(); }
  };
  struct Told {
    int rank;
    CallSignature what;
  };
  struct Progress {  // of a rank, as far as it is known
    uint64_t made = 0;
    std::string doing = {};  // what it answered last: "at barrier 2, in the program"
    GroupClock::time_point asked = {};
  };
  std::map<uint64_t, std::shared_ptr<GroupCall>> under_way;  // collective ones
  std::vector<std::shared_ptr<GroupCall>> singles;
  std::map<Key, std::deque<Body>> bodies;   // for which there is no place yet
  std::map<Key, std::deque<Place>> places;  // for which there is no body yet
  std::map<uint64_t, Told> told;            // calls that others have made, and this rank has not
  std::map<uint64_t, CallSignature> made;   // the latest of this rank
  std::vector<Progress> progress;           // by rank
  bool closed = false;

  int place_of(int job_rank) const;
  uint64_t calls_made();
};

// The node's thread and what it owns.
class GroupCore final : public LinkEvents, public std::enable_shared_from_this<GroupCore> {
 public:
  using Command = engine::InlineFunction<void(), 64>;
  static constexpr int kAsksInDeadline = 4;
  explicit GroupCore(std::unique_ptr<GroupLinks> links);
  void run();

  // From any thread.
  void post(Command command);
  bool on_own_thread() const { return std::this_thread::get_id() == thread_id_.load(); }
  void stop();
  const GroupLinks& links() const { return *links_; }
  void abort(const std::string& why) { links_->abort(why); }  // likewise from any thread
  void flush() { links_->flush(); }                           // when the own thread has ended
  std::string failure() const;  // why the first group broke, or this rank gave up; empty: all is well

  // On the own thread.
  void add(const std::shared_ptr<GroupState>& group);
  void forget(uint64_t group);
  void begin(GroupState& group, const std::shared_ptr<GroupCall>& call);
  // With `parts`, instead of memory.
  void send(GroupCall& call, int to, uint32_t part, std::span<const std::byte> data, PartsRef parts,
            GroupLinks::Finished after);
  void receive(GroupCall& call, int from, uint32_t part, std::span<std::byte> place, PartsRef parts,
               GroupLinks::Finished after);
  void break_up(GroupState& group, const std::string& why, bool tell = true);
  void give_up(const std::string& why);
  void say_that_it_ends();
  // Whether all other ranks have; asks those that have not, and gives up on one that does not answer.
  bool all_have_ended();

 private:
  enum class Kind : uint32_t { body, broken, gave_up, ended, ask, here };
  struct Head;
  struct Peer {
    GroupClock::time_point heard, asked;
    bool gone = false;  // it will post nothing more
    std::string why;    // likewise: a sentence
    uint64_t next = 0;  // number of the next body to it
  };

  void on_post(int from, std::string&& message) override;
  void on_lost(int rank, const std::string& why) override;
  void tell(int to, Kind kind, uint64_t group, uint64_t call, std::string_view text);
  void on_body(GroupState& group, int from, const Head& head, std::string_view rest);
  void meet(GroupState& group, int from, GroupState::Body&& body, GroupState::Place&& place);
  bool agree(GroupState& group, int from, uint64_t call, const CallSignature& what);
  std::string doing(GroupState& group) const;
  std::string why_late(const GroupState& group, const GroupCall& call, size_t rank) const;
  // A stretch of the trace; those of a rank that overlap are on tracks of their own.
  struct Stretch {
    int64_t begin = 0;  // 0: not traced
    size_t track = 0, bytes = 0;
    bool outward = false;
  };
  std::string track_name(const GroupCall& call, int rank, bool outward) const;
  Stretch begin_stretch(const GroupCall& call, int rank, size_t bytes, bool outward);
  void end_stretch(const GroupCall& call, int rank, const Stretch& stretch);
  void step_done(const std::shared_ptr<GroupCall>& call, int rank, const Stretch& stretch,
                 GroupLinks::Finished& after);
  void finish(GroupCall& call, std::exception_ptr error);
  void end_if_done(GroupCall& call);
  void look();
  void look_after(GroupState& group, const std::shared_ptr<GroupCall>& call, GroupClock::time_point now);
  void fail(const std::string& why);

  const std::unique_ptr<GroupLinks> links_;
  std::vector<Peer> peers_;
  std::map<uint64_t, std::shared_ptr<GroupState>> groups_;
  std::map<uint64_t, std::vector<std::pair<int, std::string>>>
      early_;  // of groups that are not made here yet
  GroupClock::time_point look_at_, ended_at_;
  std::chrono::milliseconds look_every_{250};
  std::chrono::milliseconds deadline_{0};  // the longest of a group
  bool running_ = true;
  size_t calls_ = 0;                                 // under way
  std::map<std::string, std::vector<bool>> tracks_;  // of the trace, by whom: which are in use
  std::atomic<std::thread::id> thread_id_;
  mutable std::mutex mutex_;  // guards the next two
  std::vector<Command> inbox_;
  std::string failure_;
};

// A rank of a job.
class GroupNode : public std::enable_shared_from_this<GroupNode> {
 public:
  explicit GroupNode(std::unique_ptr<GroupLinks> links);
  ~GroupNode();
  // Tells the others that this rank ends. Calls come to nothing afterwards.
  void close();
  // A group of all ranks, or of these, in this order; each of them calls it, equally often.
  std::unique_ptr<ProcessGroup> world(const GroupOptions& options, std::vector<int> ranks = {});
  std::unique_ptr<ProcessGroup> make(uint64_t id, std::vector<int> ranks, const GroupOptions& options);
  // At the end of the process: waits until all other ranks have got there, too. If not all is well, ends the job, as far as the links can.
  void end_process(std::chrono::milliseconds for_last_words);
  GroupCore& core() { return *core_; }
  std::string metrics_text() const;

 private:
  void serve_metrics(const GroupOptions& options);
  std::string wait_for_the_end(std::chrono::milliseconds for_last_words);
  const std::shared_ptr<GroupCore> core_;
  mutable std::mutex mutex_;                              // guards the next three
  std::map<std::vector<int>, uint64_t> worlds_;           // how many of these ranks were made
  std::map<uint64_t, std::weak_ptr<GroupState>> groups_;  // as they were made
  uint64_t made_ = 0;
  std::thread thread_;
  std::unique_ptr<class MetricsServer> metrics_;
};

}  // namespace loomix::comm
