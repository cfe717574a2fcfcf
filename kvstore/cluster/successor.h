// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "kvstore/cluster/entry_log.h"
#include "kvstore/cluster/place.h"
#include "kvstore/cluster/state_copy.h"

namespace loomix::kvstore {

// A place's way to the one behind it, if there is one: gives it a copy and entries, and knows what it has confirmed.
class Successor {
 public:
  // `on_confirmed` may find more in committed().
  Successor(Place& place, std::function<void()> on_confirmed);
  void on_view();
  bool is_there() const { return name_.has_value(); }
  void greet();  // it may not have what is here
  void add(int64_t index, comm::Message entry);
  // Up to where the entries of this place are committed, as far as those behind are concerned.
  int64_t committed() const;
  void begin_anew();  // the place has another state
  void forget_state();
  size_t unconfirmed() const { return log_.size(); }

 private:
  std::optional<Link> place_behind() const;
  bool counts() const;
  void greet_later();
  void greeted(const messages::HelloAnswer& successor_has);
  void link(int64_t last_of_successor);
  void on_link_error(int64_t view);
  void ask_to_confirm(int64_t index);
  void send_entries();
  void send_entry(const EntryLog::Entry& entry);
  void confirmed_up_to(int64_t index, int64_t view);
  void let_it_count();

  Place& place_;
  const std::function<void()> on_confirmed_;
  std::optional<comm::NodeName> name_;
  int64_t since_ = 0;         // with which view it came
  bool linked_ = false;       // it has all that is not in `log_`, so entries may be sent
  int64_t sent_ = 0;          // index of the newest one, if it is
  int64_t confirmed_ = 0;     // up to which it, and all behind it, have the entries
  int64_t counts_since_ = 0;  // `since_` of one that counts before the scheduler knows
  size_t allowance_ = 0;      // bytes that the log may have while it does not count
  OutgoingCopy copy_;
  EntryLog log_;  // emptied by its answers
};

}  // namespace loomix::kvstore
