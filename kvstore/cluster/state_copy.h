// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "kvstore/cluster/place.h"
#include "kvstore/cluster/state_pieces.h"

namespace loomix::kvstore {

// A place's state of one moment on its way to the place behind. It outlasts views that keep the latter in its place.
class OutgoingCopy {
 public:
  // `on_arrival` is called when all of it is there, as of the entry; `on_break` when the successor has to be asked how far it is, or
  // there is no copy.
  OutgoingCopy(Place& place, std::function<void(int64_t index)> on_arrival, std::function<void()> on_break);
  void on_view(const std::optional<Link>& behind);
  bool is_under_way() const { return copy_ != nullptr; }
  // Returns how many bytes it has.
  size_t begin(const comm::NodeName& successor, const Link& behind);
  // From what the successor says that it has. False: it has less than it had, so another copy is needed.
  bool go_on(const comm::NodeName& successor, const messages::HelloAnswer& successor_has);
  void end() { copy_.reset(); }

 private:
  struct Copy {
    struct Piece {
      std::vector<comm::Buffer> parts;  // until it has arrived
      bool goes_on = false;
    };
    int64_t number = 0;  // larger than those before
    int64_t index = 0;   // of the newest entry that is in it
    int64_t since = 0;   // of the successor's place
    std::vector<Piece> pieces;
    bool filled = false;
    size_t arrived = 0;    // the successor has the pieces before
    size_t next = 0;       // to be sent
    uint64_t attempt = 0;  // answers to earlier ones do not count
  };
  void send_pieces();
  void piece_arrived(size_t pieces);

  Place& place_;
  const PieceLimits limits_;
  const std::function<void(int64_t index)> on_arrival_;
  const std::function<void()> on_break_;
  comm::NodeName to_;
  std::shared_ptr<Copy> copy_;  // shared with the tasks that fill it
  int64_t copies_ = 0;
  bool in_error_ = false;  // it was said that there is no copy because of a value in error
};

// One that comes from the place before.
class IncomingCopy {
 public:
  IncomingCopy(Place& place, std::function<void()> on_state);  // `on_state`: the place has taken it over
  void on_view();
  // What the one who asks can go on from.
  messages::HelloAnswer what_is_here(const comm::NodeId& asked_by) const;
  // Returns the next one, if that has come already.
  std::optional<Received<messages::InChain>> on_piece(Received<messages::InChain>&& message);
  void forget() { copy_.reset(); }

 private:
  struct Copy {
    uint64_t from = 0;  // incarnation
    int64_t number = 0;
    size_t next = 0;  // those before are in `state`
    StateBuilder state;
    std::map<size_t, Received<messages::InChain>> ahead;  // no more than are in flight; emptied by a new view
  };
  void load(int64_t index, std::span<const comm::Buffer> items);

  Place& place_;
  const std::function<void()> on_state_;
  std::unique_ptr<Copy> copy_;
};

}  // namespace loomix::kvstore
