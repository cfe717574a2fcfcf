// SPDX-License-Identifier: Apache-2.0
//
// Who asks for round n has applied round n - 1, and so has who answers, as a committed entry. So no head ever goes back before what
// another one has used, and a group keeps the squares of one round only: of the last one whose norm it knows.
#include "kvstore/cluster/norm_exchange.h"

#include <cmath>

#include "base/log.h"

namespace loomix::kvstore {
namespace {

constexpr auto kSoon = std::chrono::milliseconds(200);

}  // namespace

void NormExchange::on_view() {
  begin(0);
  for (Asked& one : std::exchange(asked_, {})) on_asked(one.round, std::move(one.answer));
  on_applied();
}

void NormExchange::begin(int64_t round) {
  round_ = round;
  ++attempt_;
  adding_ = false;
  found_.clear();
}

void NormExchange::on_applied() {
  const NormLimit& limit = place_.shards->norm_limit();
  if (!place_.is_head() || limit.most == 0) return;
  if (round_ != limit.round + 1) begin(limit.round + 1);
  if (adding_) return;
  const auto squares = place_.shards->squares_of_next_round(place_.group);
  if (!squares) return;
  adding_ = true;
  add_up(*squares);
}

// In the order of shards, by the engine.
void NormExchange::add_up(const std::vector<NDArray>& squares) {
  const engine::ForTask never_waits(place_.server.runtime.engine());  // for work that waits for this thread
  ArrayTags tags;
  for (const NDArray& square : squares) tags.read(square);
  engine::TaskInfo info;
  info.lane = engine::Lane::communicate;
  info.describe.name = [](const void*) { return "kvstore_norm"; };
  place_.server.runtime.engine().push(
      std::move(info), tags.tags(),
      [this, squares, link = place_.server.link, attempt = attempt_,
       index = place_.last](engine::RunContext&) {  // `this` lives while the endpoint does
        double sum = 0;
        for (const NDArray& square : squares) sum += *static_cast<const double*>(square.view().data);
        link->post([this, attempt, index, sum] {
          if (attempt != attempt_) return;
          place_.when_committed(index, {}, [this, attempt, sum](comm::Responder&&) {
            if (attempt == attempt_)
              place_.server.endpoint.post([this, attempt, sum] {
                if (attempt == attempt_) on_sum(sum);
              });
          });
        });
      });
}

void NormExchange::on_sum(double sum) {
  found_[place_.group] = sum;
  for (Asked& one : std::exchange(asked_, {})) on_asked(one.round, std::move(one.answer));
  const std::vector<int64_t>& shards = place_.shards->norm_limit().shards;
  for (size_t group = 0; group < shards.size(); ++group) {
    if (group != place_.group && shards[group] > 0) ask(group);
  }
  append_if_complete();
}

void NormExchange::on_asked(int64_t round, Answer answer) {
  const NormLimit& limit = place_.shards->norm_limit();
  if (!place_.is_head() || limit.most == 0 || round < limit.round) return answer(std::nullopt);
  if (round == limit.round) return answer(limit.squares);
  const auto own = found_.find(place_.group);
  if (round != round_ || own == found_.end()) return asked_.push_back({round, std::move(answer)});
  answer(own->second);
}

void NormExchange::ask(size_t group) {
  ask_head_(group, round_, [this, group, attempt = attempt_](std::optional<double> squares) {
    if (attempt != attempt_) return;
    if (!squares) {  // a new view begins anew
      place_.server.endpoint.after(kSoon, [this, group, attempt] {
        if (attempt == attempt_) ask(group);
      });
      return;
    }
    found_[group] = *squares;
    append_if_complete();
  });
}

void NormExchange::append_if_complete() {
  const engine::ForTask never_waits(place_.server.runtime.engine());
  const NormLimit& limit = place_.shards->norm_limit();
  messages::Request entry;
  entry.set_view(place_.view.number);
  entry.set_group(static_cast<uint32_t>(place_.group));
  messages::Norm& norm = *entry.mutable_norm();
  norm.set_round(round_);
  double all = 0;
  for (size_t group = 0; group < limit.shards.size(); ++group) {
    const auto found = found_.find(group);
    if (found == found_.end() && limit.shards[group] > 0) return;
    const double squares = found == found_.end() ? 0 : found->second;
    norm.add_squares(squares);
    all += squares;
  }
  if (!std::isfinite(all)) {
    log(LogLevel::warning,
        "[KVStore] the norm of the gradients of round {} is not finite, so they are not clipped.", round_);
  }
  place_.append(encode(entry), entry);
}

}  // namespace loomix::kvstore
