// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/shard_group.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "kvstore/cluster/batch.h"
#include "ndarray/copy.h"

namespace loomix::kvstore {
namespace {

constexpr int64_t kMostWorkers = 1 << 16;
constexpr int64_t kMostStates = 16;  // arrays that an optimizer keeps of a shard

size_t worker_of(const messages::Request& request) {
  return static_cast<size_t>(in_range("Request.worker", request.worker(), 0, kMostWorkers - 1));
}

DType to_dtype(int32_t number) {
  const auto dtype = static_cast<DType>(number);
  LOOMIX_CHECK(dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16 ||
                   dtype == DType::bfloat16 || dtype == DType::int32 || dtype == DType::int64 ||
                   dtype == DType::int8 || dtype == DType::uint8,
               NetworkError, "[KVStore] a message names the element type {}; expected a number type.",
               number);
  return dtype;
}

bool never_pushed(const std::vector<int64_t>& pushed) {
  return std::all_of(pushed.begin(), pushed.end(), [](int64_t count) { return count == 0; });
}

OptimizerSpec spec_of(const messages::Optimizer& message) {
  OptimizerSpec spec{message.name(), {}};
  for (const auto& setting : message.settings()) spec.settings.emplace_back(setting.name(), setting.value());
  return spec;
}

}  // namespace

const ShardGroup::ShardValue* ShardGroup::find_shard(const std::string& key, int64_t part) const {
  const auto found = shards_.find({key, part});
  return found == shards_.end() ? nullptr : &found->second;
}

// None: the worker has joined as what it is.
std::optional<ShardGroup::Check> ShardGroup::check_life(const messages::Request& entry) const {
  const size_t worker = worker_of(entry);
  const int64_t known = worker < lives_.size() ? lives_[worker] : 0;
  if (entry.has_join()) {
    if (entry.life() > known || (entry.life() == known && counts(worker))) return std::nullopt;
    return Check{Verdict::refuse, fmt::format("worker {} was started again since.", worker)};
  }
  if (entry.life() == known && counts(worker)) return std::nullopt;
  return Check{Verdict::refuse, fmt::format("worker {} has not joined as what it is now.", worker)};
}

ShardGroup::Check ShardGroup::check(const messages::Request& entry,
                                    std::span<const comm::Buffer> payload) const {
  if (entry.has_push()) return check(entry, entry.push(), only_part(payload));
  if (std::optional<Check> refused = check_life(entry)) return *refused;
  if (entry.has_init()) return check_init(entry, only_part(payload));
  if (entry.has_norm_limit()) return check_limit(entry);
  if (entry.has_optimizer()) {
    try {
      make_optimizer(runtime_, spec_of(entry.optimizer()), code_);
    } catch (const ValueError& error) {
      return {Verdict::refuse, error.what()};
    }
    return {Verdict::apply, {}};
  }
  LOOMIX_CHECK(entry.has_join(), NetworkError, "[KVStore] a Request of kind {} is no entry.",
               static_cast<int>(entry.what_case()));
  return {Verdict::apply, {}};
}

ShardGroup::Check ShardGroup::check_init(const messages::Request& entry, const comm::Buffer& bytes) const {
  const messages::Init& init = entry.init();
  const std::string key = to_text(key_of_wire(init.key()));
  const DType dtype = to_dtype(init.dtype());
  in_range("Init.mode", init.mode(), 0, 2);
  in_range("Init.workers", init.workers(), entry.worker() + int64_t{1}, kMostWorkers);
  const ShardValue* const shard = find_shard(init.key(), init.part());
  if (shard == nullptr) return {Verdict::apply, {}};
  const NDArray& value = shard->value[0];
  if (value.dtype() == dtype && value.bytes() == static_cast<int64_t>(bytes.size()))
    return {Verdict::again, {}};
  return {Verdict::refuse,
          fmt::format("key {} has {} elements of {} here, and worker {} brings {} bytes of {}.", key,
                      value.size(), name_of(value.dtype()), entry.worker(), bytes.size(), name_of(dtype))};
}

ShardGroup::Check ShardGroup::check(const messages::Request& sender, const messages::Push& push,
                                    const comm::Buffer& bytes) const {
  if (std::optional<Check> refused = check_life(sender)) return *refused;
  if (auto why = unlike(push.key(), push.like())) return {Verdict::refuse, std::move(*why), kUnlike};
  const ShardValue* const shard = find_shard(push.key(), push.part());
  if (shard == nullptr) return {Verdict::early, {}};
  in_range("Request.worker", sender.worker(), 0, static_cast<int64_t>(shard->pushed.size()) - 1);
  const NDArray& value = shard->value[0];
  Packing::read(push.packing()).check(bytes, value.size(), value.dtype());
  const int64_t done = shard->pushed[sender.worker()];
  const bool again = push.number() <= done;
  return {again ? Verdict::again : push.number() == done + 1 ? Verdict::apply : Verdict::early, {}};
}

void ShardGroup::apply(const messages::Request& entry, std::span<const comm::Buffer> payload) {
  if (entry.has_init()) {
    init(entry.init(), only_part(payload));
  } else if (entry.has_optimizer()) {
    optimizer_ = make_optimizer(runtime_, spec_of(entry.optimizer()), code_);
  } else if (entry.has_norm_limit()) {
    set_limit(entry.norm_limit());
  } else if (entry.has_norm()) {
    apply_norm(entry.group(), entry.norm());
  } else {
    take_in(entry);
  }
}

// A worker joins, or is left out.
void ShardGroup::take_in(const messages::Request& entry) {
  const size_t worker = worker_of(entry);
  if (lives_.size() <= worker) lives_.resize(worker + 1);
  if (left_.size() <= worker) left_.resize(worker + 1);
  const bool back = entry.has_join() && left_[worker];
  lives_[worker] = entry.life();
  left_[worker] = entry.has_leave();
  for (auto& [id, shard] : shards_) {
    if (back && setup_.mode == Mode::sync && worker < shard.pushed.size())
      go_on_where_others_are(id, shard, worker);
    complete_rounds(id, shard);
    for (auto& [number, round] : shard.rounds) add_prefix(id, shard, number, round);
  }
}

// For who was left out.
void ShardGroup::go_on_where_others_are(const ShardId& id, ShardValue& shard, size_t worker) {
  int64_t& pushed = shard.pushed[worker];
  pushed = std::max(pushed, shard.version);
  if (pushed > shard.version || !limit_.next.contains(id)) return;
  shard.rounds.at(++pushed).came[worker] = true;  // others know the squares of this round
}

void ShardGroup::init(const messages::Init& init, const comm::Buffer& bytes) {
  const DType dtype = to_dtype(init.dtype());
  setup_.mode = static_cast<Mode>(init.mode());
  setup_.staleness = init.staleness();
  ShardValue& shard = shards_[{init.key(), init.part()}];
  shard.pushed.resize(init.workers());
  shard.like = init.like();
  const NDArray given = array_of(runtime_.engine(), bytes, dtype);
  shard.value[0] = copy_to(given, Device::cpu());
  shard.value[1] = NDArray(runtime_.engine(), given.shape(), dtype, Device::cpu());
  value_bytes_ += static_cast<size_t>(given.bytes());
}

void ShardGroup::push(const messages::Request& sender, const messages::Push& push,
                      const comm::Buffer& bytes) {
  const ShardId id{push.key(), push.part()};
  ShardValue& shard = shards_.at(id);
  const int64_t number = push.number();
  const bool large = bytes.size() > kSmallItem;  // others are not worth being counted
  Given given{true, Packing::read(push.packing()), large ? backlog_->count(bytes) : bytes};
  if (never_pushed(shard.pushed)) ++begun_;
  shard.pushed.at(sender.worker()) = number;
  if (setup_.mode != Mode::sync) {
    const Request request(runtime_, "kvstore_update", key_of_wire(id.first), 0);
    update(request, id, shard, {}, {&given, 1});
    return keep_for_cut(id, shard);
  }
  Round& round = shard.rounds[number];
  round.given.resize(shard.pushed.size());
  round.came.resize(shard.pushed.size());
  held_ += given.bytes.size();
  round.given[sender.worker()] = std::move(given);
  round.came[sender.worker()] = true;
  complete_rounds(id, shard);
  if (const auto left = shard.rounds.find(number); left != shard.rounds.end())
    add_prefix(id, shard, number, left->second);
}

std::optional<std::string> ShardGroup::unlike(const std::string& key, const messages::Like& like) const {
  const auto found = shards_.lower_bound({key, 0});  // any part: keys of other shapes are cut in other ways
  if (found == shards_.end() || found->first.first != key || like.shape_size() == 0) return std::nullopt;
  const messages::Like& known = found->second.like;
  const bool same =
      known.dtype() == like.dtype() && known.stype() == like.stype() &&
      std::equal(known.shape().begin(), known.shape().end(), like.shape().begin(), like.shape().end());
  if (known.shape_size() == 0 || same) return std::nullopt;
  const auto tell = [](const messages::Like& one) {
    return fmt::format("{} of shape ({}{}) and type {} at worker {}",
                       name_of(static_cast<StorageType>(in_range("Like.stype", one.stype(), 0, 2))),
                       fmt::join(one.shape(), ", "), one.shape_size() == 1 ? "," : "",
                       name_of(to_dtype(one.dtype())), one.worker());
  };
  return fmt::format("key {} is {}, and {}; all workers must give it the same shape and type.",
                     to_text(key_of_wire(key)), tell(known), tell(like));
}

// A pull waits for its round; what was pushed to it, but not added yet, waits for the norm that other keys have a part in.
ShardGroup::Awaited ShardGroup::awaited(const messages::Request& sender, const ShardId& id,
                                        int64_t number) const {
  const std::string key = to_text(key_of_wire(id.first));
  const ShardValue* const shard = find_shard(id.first, id.second);
  if (shard == nullptr) return {{0}, fmt::format("given key {} its first value", key)};
  if (number <= 0) return {};
  const bool alone = setup_.mode == Mode::async;
  const int64_t least = setup_.mode == Mode::ssp ? number - setup_.staleness : number;
  Awaited late{{}, fmt::format("made push {} of key {}", least, key)};
  for (size_t worker = 0; worker < shard->pushed.size(); ++worker) {
    if (!alone && worker != sender.worker() && counts(worker) && shard->pushed[worker] < least)
      late.workers.push_back(worker);
  }
  const bool own = sender.worker() < shard->pushed.size() && shard->pushed[sender.worker()] >= number;
  if (!late.workers.empty() || !own || limit_.most == 0) return late;
  late.what = fmt::format("made all pushes of round {}, whose norm is awaited", number);
  for (size_t worker = 0; worker < shard->pushed.size(); ++worker) {
    if (worker != sender.worker() && counts(worker)) late.workers.push_back(worker);
  }
  return late;
}

std::optional<NDArray> ShardGroup::find(const messages::Request& sender, const messages::Pull& pull) const {
  const ShardValue* const shard = find_shard(pull.key(), pull.part());
  if (shard == nullptr) return std::nullopt;
  LOOMIX_CHECK(shard->optimizer.failure.empty(), StateError, "{}", shard->optimizer.failure);
  const NDArray& newest = shard->value[shard->newest];
  const int64_t number = pull.number();
  if (setup_.mode == Mode::sync) {
    if (shard->version < number) return std::nullopt;
    // Later than asked for: a worker that was started again repeats its last round.
    const bool before = shard->version == number + 1 && shard->has_previous;
    return before ? shard->value[1 - shard->newest] : newest;
  }
  if (sender.worker() < shard->pushed.size() && shard->pushed[sender.worker()] < number) return std::nullopt;
  if (setup_.mode == Mode::ssp) {
    for (size_t worker = 0; worker < shard->pushed.size(); ++worker) {
      if (counts(worker) && shard->pushed[worker] < number - setup_.staleness) return std::nullopt;
    }
  }
  return newest;
}

void ShardGroup::count(GroupNumbers& numbers) const {
  numbers.shards = shards_.size();
  numbers.held = held_;
  for (const auto& [id, shard] : shards_) {
    numbers.rounds = std::max(numbers.rounds, shard.version);
    if (shard.pushed.empty()) continue;
    numbers.behind.resize(std::max(numbers.behind.size(), shard.pushed.size()));
    const int64_t first = *std::max_element(shard.pushed.begin(), shard.pushed.end());
    for (size_t worker = 0; worker < shard.pushed.size(); ++worker) {
      numbers.pushes += shard.pushed[worker];
      numbers.behind[worker] = std::max(numbers.behind[worker], first - shard.pushed[worker]);
    }
  }
}

messages::KnownShards ShardGroup::known_of(size_t worker) const {
  messages::KnownShards known;
  for (const auto& [id, shard] : shards_) {
    auto& one = *known.add_shards();
    one.set_key(id.first);
    one.set_part(id.second);
    one.set_pushes(worker < shard.pushed.size() ? shard.pushed[worker] : 0);
  }
  return known;
}

void ShardGroup::put_setup(Picture& picture, size_t workers) const {
  messages::GroupState& state = picture.state;
  state.set_mode(static_cast<uint32_t>(setup_.mode));
  state.set_staleness(setup_.staleness);
  for (size_t worker = 0; worker < workers; ++worker) {
    auto& one = *state.add_workers();
    one.set_life(lives_[worker]);
    one.set_left(left_[worker]);
  }
  if (limit_.most > 0) {
    limit_.write(*state.mutable_norm_limit());  // its round is the version of the shards
    state.set_squares(limit_.squares);
  }
  if (!optimizer_) return;
  state.mutable_optimizer()->set_name(optimizer_->spec().name);
  for (const auto& [name, value] : optimizer_->spec().settings) {
    auto& setting = *state.mutable_optimizer()->add_settings();
    setting.set_name(name);
    setting.set_value(value);
  }
}

namespace {

struct ShardPicture {
  const std::pair<std::string, int64_t>& id;
  std::span<const NDArray> values;
  int newest;
  bool has_previous;
  int64_t version;
  const OptimizerState& optimizer;
  const std::vector<int64_t>& pushed;
  const messages::Like& like;
};

messages::ShardState& put_shard(ShardGroup::Picture& picture, const ShardPicture& shard) {
  messages::ShardState& state = *picture.state.add_shards();
  state.set_key(shard.id.first);
  state.set_part(shard.id.second);
  state.set_dtype(static_cast<int32_t>(shard.values[0].dtype()));
  state.set_values(static_cast<uint32_t>(shard.values.size()));
  state.set_newest(static_cast<uint32_t>(shard.newest));
  state.set_has_previous(shard.has_previous);
  state.set_version(shard.version);
  state.set_updates(shard.optimizer.updates);
  for (const NDArray& array : shard.optimizer.arrays)
    state.add_optimizer_dtypes(static_cast<int32_t>(array.dtype()));
  state.mutable_pushed()->Add(shard.pushed.begin(), shard.pushed.end());
  if (shard.like.shape_size() > 0) *state.mutable_like() = shard.like;
  picture.arrays.insert(picture.arrays.end(), shard.values.begin(), shard.values.end());
  picture.arrays.insert(picture.arrays.end(), shard.optimizer.arrays.begin(), shard.optimizer.arrays.end());
  return state;
}

}  // namespace

ShardGroup::Picture ShardGroup::picture() const {
  Picture picture;
  put_setup(picture, lives_.size());
  for (const auto& [id, shard] : shards_) {
    messages::ShardState& state =
        put_shard(picture, {id, shard.value, shard.newest, shard.has_previous, shard.version, shard.optimizer,
                            shard.pushed, shard.like});
    for (const auto& [number, round] : shard.rounds) {
      messages::RoundState& one = *state.add_rounds();
      one.set_number(number);
      one.set_next(static_cast<uint32_t>(round.next));
      one.set_in_place(round.in_place);
      one.set_has_sum(!round.sum.is_none() && !round.in_place);
      if (one.has_sum()) picture.arrays.push_back(round.sum);
      for (size_t worker = 0; worker < round.given.size(); ++worker) {
        const Given& given = round.given[worker];
        auto& told = *one.add_given();
        told.set_came(round.came[worker]);
        told.set_there(given.there);
        if (!given.there) continue;
        given.packing.write(*told.mutable_packing());
        picture.arrays.push_back(array_of(runtime_.engine(), given.bytes, DType::uint8));
      }
    }
  }
  return picture;
}

// ---- cuts -------------------------------------------------------------------------------------------------------

// How many pushes of everybody who counts are in the value.
int64_t ShardGroup::rounds_of(const ShardValue& shard) const {
  if (setup_.mode == Mode::sync) return shard.version;
  std::optional<int64_t> least;
  for (size_t worker = 0; worker < shard.pushed.size(); ++worker) {
    if (counts(worker)) least = std::min(least.value_or(shard.pushed[worker]), shard.pushed[worker]);
  }
  return least.value_or(0);
}

// In a program that pushes each key once a step, nobody has pushed anything twice while another key has no push at all. So
// from round 2 on a shard without pushes is none that is late, but one that is never pushed.
void ShardGroup::take_cuts(int64_t every) {
  if (every == cut_every_) return;
  kept_.clear();
  cut_every_ = every;
  cut_ = 0;
  if (every == 0) return;
  for (const auto& [id, shard] : shards_) cut_ = std::max(cut_, rounds_of(shard));
  cut_ = std::max<int64_t>((cut_ / every + 1) * every, 2);
}

void ShardGroup::keep_for_cut(const ShardId& id, const ShardValue& shard) {
  if (cut_every_ == 0) return;
  const int64_t rounds = rounds_of(shard);
  if (rounds >= cut_ + cut_every_) {  // another shard is pushed more seldom: there is no such cut
    kept_.clear();
    cut_ = rounds / cut_every_ * cut_every_;
  }
  if (rounds >= cut_ && !kept_.contains(id)) kept_.emplace(id, keep(shard));
}

ShardGroup::Kept ShardGroup::keep(const ShardValue& shard) const {
  Kept kept{copy_to(shard.value[shard.newest], Device::cpu()), {}, shard.version, shard.pushed};
  if (setup_.mode == Mode::sync) kept.pushed.assign(kept.pushed.size(), shard.version);
  kept.optimizer.updates = shard.optimizer.updates;
  for (const NDArray& array : shard.optimizer.arrays)
    kept.optimizer.arrays.push_back(copy_to(array, Device::cpu()));
  return kept;
}

std::optional<ShardGroup::Cut> ShardGroup::take_cut() {
  if (kept_.empty() || kept_.size() < begun_) return std::nullopt;
  Cut cut{cut_, picture_of(std::exchange(kept_, {}))};
  cut_ += cut_every_;
  return cut;
}

std::optional<ShardGroup::Picture> ShardGroup::picture_if_never_pushed() const {
  if (begun_ > 0) return std::nullopt;
  return picture_of({});
}

ShardGroup::Picture ShardGroup::picture_of(const std::map<ShardId, Kept>& kept) const {
  Picture picture;
  put_setup(picture, 0);
  for (const auto& [id, shard] : shards_) {
    const auto found = kept.find(id);
    const Kept one = found != kept.end() ? found->second : keep(shard);
    put_shard(picture, {id, {&one.value, 1}, 0, false, one.version, one.optimizer, one.pushed, shard.like});
  }
  return picture;
}

namespace {

// The arrays of a state, one after the other.
class ArrayReader {
 public:
  ArrayReader(engine::Engine& engine, std::span<const comm::Buffer> arrays)
      : engine_(engine), arrays_(arrays) {}
  const comm::Buffer& bytes() {
    LOOMIX_CHECK(next_ < arrays_.size(), NetworkError,
                 "[KVStore] a GroupState came with {} arrays; expected more.", arrays_.size());
    return arrays_[next_++];
  }
  NDArray array(DType dtype) { return copy_to(array_of(engine_, bytes(), dtype), Device::cpu()); }

 private:
  engine::Engine& engine_;
  const std::span<const comm::Buffer> arrays_;
  size_t next_ = 0;
};

}  // namespace

void ShardGroup::load(const messages::GroupState& state, std::span<const comm::Buffer> arrays) {
  ArrayReader reader(runtime_.engine(), arrays);
  setup_.mode = static_cast<Mode>(in_range("GroupState.mode", state.mode(), 0, 2));
  setup_.staleness = state.staleness();
  lives_.clear();
  left_.clear();
  in_range("GroupState.workers, counted,", state.workers_size(), 0, kMostWorkers);
  for (const auto& worker : state.workers()) {
    lives_.push_back(worker.life());
    left_.push_back(worker.left());
  }
  optimizer_ = state.has_optimizer() ? make_optimizer(runtime_, spec_of(state.optimizer()), code_) : nullptr;
  shards_.clear();
  begun_ = held_ = value_bytes_ = 0;
  for (const messages::ShardState& one : state.shards()) {
    const DType dtype = to_dtype(one.dtype());
    ShardValue& shard = shards_[{one.key(), one.part()}];
    const int64_t values = in_range("ShardState.values", one.values(), 1, 2);
    shard.newest = static_cast<int>(in_range("ShardState.newest", one.newest(), 0, values - 1));
    shard.has_previous = one.has_previous() && values == 2;
    shard.version = one.version();
    shard.optimizer.updates = one.updates();
    shard.like = one.like();
    in_range("ShardState.pushed, counted,", one.pushed_size(), 1, kMostWorkers);
    shard.pushed.assign(one.pushed().begin(), one.pushed().end());
    if (!never_pushed(shard.pushed)) ++begun_;
    shard.value[0] = reader.array(dtype);
    shard.value[1] = values == 2 ? reader.array(dtype)
                                 : NDArray(runtime_.engine(), shard.value[0].shape(), dtype, Device::cpu());
    in_range("ShardState.optimizer_dtypes, counted,", one.optimizer_dtypes_size(), 0, kMostStates);
    for (const int32_t kept : one.optimizer_dtypes())
      shard.optimizer.arrays.push_back(reader.array(to_dtype(kept)));
    for (const messages::RoundState& told : one.rounds()) {
      Round& round = shard.rounds[told.number()];
      round.given.resize(shard.pushed.size());
      round.came.resize(shard.pushed.size());
      const auto workers = static_cast<int64_t>(round.given.size());
      round.next = static_cast<size_t>(in_range("RoundState.next", told.next(), 0, workers));
      if (told.has_sum()) round.sum = reader.array(dtype_of_sum(dtype));
      round.in_place = told.in_place();
      if (round.in_place) round.sum = shard.value[1 - shard.newest];
      LOOMIX_CHECK(round.sum.is_none() || round.sum.size() == shard.value[0].size(), NetworkError,
                   "[KVStore] a RoundState has a sum of {} elements for key {}, which has {}.",
                   round.sum.size(), to_text(key_of_wire(one.key())), shard.value[0].size());
      in_range("RoundState.given, counted,", told.given_size(), workers, workers);
      for (size_t worker = 0; worker < round.given.size(); ++worker) {
        const auto& from = told.given(static_cast<int>(worker));
        Given& given = round.given[worker];
        round.came[worker] = from.came();
        given.there = from.there();
        if (!given.there) continue;
        given.packing = Packing::read(from.packing());
        given.bytes = reader.bytes();
        given.packing.check(given.bytes, shard.value[0].size(), dtype);
        held_ += given.bytes.size();
      }
    }
    value_bytes_ += static_cast<size_t>(shard.value[0].bytes());
  }
  limit_ = state.has_norm_limit() ? NormLimit::read(state.norm_limit()) : NormLimit();
  limit_.squares = state.squares();
  note_round_of_limit();
  for (auto& [id, shard] : shards_) {
    if (!limit_.concerns(id.first)) continue;
    const auto next = shard.rounds.find(shard.version + 1);
    LOOMIX_CHECK(next == shard.rounds.end() || !next->second.sum.is_none() ||
                     std::any_of(next->second.given.begin(), next->second.given.end(),
                                 [](const Given& one) { return one.there; }),
                 NetworkError, "[KVStore] a snapshot has a round of key {} without a push.",
                 to_text(key_of_wire(id.first)));
    complete_rounds(id, shard);
  }
}

}  // namespace loomix::kvstore
