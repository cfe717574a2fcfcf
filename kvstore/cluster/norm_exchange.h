// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kvstore/cluster/place.h"

namespace loomix::kvstore {

// A head's part in finding the norm of a round: the squares of its group's gradients go to the heads that ask for them, theirs come
// here, and an entry with all of them changes the values (docs/kvstore.md).
class NormExchange {
 public:
  // Gets a group's sum of squares, or none: the group has not got so far, or another server is its head.
  using Answer = std::function<void(std::optional<double> squares)>;
  // Asks the head of a group, which may be on this server, for those of a round. The answer may come at once.
  using Ask = std::function<void(size_t group, int64_t round, Answer answer)>;

  NormExchange(Place& place, Ask ask_head) : place_(place), ask_head_(std::move(ask_head)) {}
  void on_view();
  void on_applied();  // the group has changed
  void on_asked(int64_t round, Answer answer);

 private:
  struct Asked {
    int64_t round;
    Answer answer;
  };
  void begin(int64_t round);
  void add_up(const std::vector<NDArray>& squares);
  void on_sum(double sum);
  void ask(size_t group);
  void append_if_complete();

  Place& place_;
  const Ask ask_head_;
  int64_t round_ = 0;    // that is to be complete next
  int64_t attempt_ = 0;  // what belongs to earlier ones does not count
  bool adding_ = false;
  std::map<size_t, double> found_;  // by group; the own is there once its pushes are committed
  std::vector<Asked> asked_;        // for the round; answered when it is complete, or by the next view
};

}  // namespace loomix::kvstore
