// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/shard_group.h"

#include <algorithm>

#include "base/error.h"
#include "kvstore/cluster/batch.h"
#include "ndarray/copy.h"

namespace loomix::kvstore {
namespace {

constexpr int64_t kMostWorkers = 1 << 16;

// The fields of an entry after {view, group}.
struct Entry {
  explicit Entry(const comm::Message& message) : reader(message) {
    reader.number();
    reader.number();
    worker = static_cast<size_t>(reader.number(0, kMostWorkers - 1));
    life = reader.number();
  }
  Reader reader;
  size_t worker;
  int64_t life;
};

DType to_dtype(int64_t number) {
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

OptimizerSpec spec_of(const std::vector<std::string>& texts) {
  OptimizerSpec spec{texts[0], {}};
  for (size_t i = 1; i < texts.size(); i += 2) spec.settings.emplace_back(texts[i], texts[i + 1]);
  return spec;
}

}  // namespace

const ShardGroup::ShardValue* ShardGroup::find_shard(const std::string& key, int64_t part) const {
  const auto found = shards_.find({key, part});
  return found == shards_.end() ? nullptr : &found->second;
}

ShardGroup::Check ShardGroup::check(const comm::Message& message) const {
  Entry entry(message);
  const int64_t known = entry.worker < lives_.size() ? lives_[entry.worker] : 0;
  if (message.command == kJoin) {
    if (entry.life > known || (entry.life == known && counts(entry.worker))) return {Verdict::apply, {}};
    return {Verdict::refuse, fmt::format("worker {} was started again since.", entry.worker)};
  }
  if (entry.life != known || !counts(entry.worker))
    return {Verdict::refuse, fmt::format("worker {} has not joined as what it is now.", entry.worker)};
  if (message.command == kSetOptimizer) {
    const std::vector<std::string>& texts = message.texts;
    LOOMIX_CHECK(texts.size() % 2 == 1, NetworkError, "[KVStore] an optimizer came with {} texts.",
                 texts.size());
    try {
      make_optimizer(runtime_, spec_of(texts), code_);
    } catch (const ValueError& error) {
      return {Verdict::refuse, error.what()};
    }
    return {Verdict::apply, {}};
  }
  const int64_t part = entry.reader.number();
  const std::string& key = entry.reader.text();
  const ShardValue* const shard = find_shard(key, part);
  LOOMIX_CHECK(message.payload.size() == 1, NetworkError,
               "[KVStore] {} payload parts came for key {}; expected 1.", message.payload.size(),
               to_text(key_of_wire(key)));
  if (message.command == kInit) {
    const DType dtype = to_dtype(entry.reader.number());
    entry.reader.number(0, 2);
    entry.reader.number();
    LOOMIX_CHECK(entry.reader.number(1, kMostWorkers) > static_cast<int64_t>(entry.worker), NetworkError,
                 "[KVStore] worker {} is none of the workers.", entry.worker);
    if (shard == nullptr) return {Verdict::apply, {}};
    const NDArray& value = shard->value[0];
    if (value.dtype() == dtype && value.bytes() == static_cast<int64_t>(message.payload[0].size()))
      return {Verdict::again, {}};
    return {Verdict::refuse,
            fmt::format("key {} has {} elements of {} here, and worker {} brings {} bytes of {}.",
                        to_text(key_of_wire(key)), value.size(), name_of(value.dtype()), entry.worker,
                        message.payload[0].size(), name_of(dtype))};
  }
  LOOMIX_CHECK(message.command == kPush, NetworkError, "[KVStore] a message of kind {} is no entry.",
               message.command);
  if (shard == nullptr) return {Verdict::early, {}};
  const int64_t number = entry.reader.number();
  LOOMIX_CHECK(entry.worker < shard->pushed.size(), NetworkError,
               "[KVStore] worker {} pushed key {}; expected workers 0 to {}.", entry.worker,
               to_text(key_of_wire(key)), shard->pushed.size() - 1);
  Packing::read(entry.reader).check(message.payload[0], shard->value[0].size(), shard->value[0].dtype());
  const int64_t done = shard->pushed[entry.worker];
  return {number <= done ? Verdict::again : number == done + 1 ? Verdict::apply : Verdict::early, {}};
}

void ShardGroup::apply(const comm::Message& message) {
  Entry entry(message);
  switch (message.command) {
    case kJoin:
    case kLeave: {
      if (lives_.size() <= entry.worker) lives_.resize(entry.worker + 1);
      if (left_.size() <= entry.worker) left_.resize(entry.worker + 1);
      const bool back = message.command == kJoin && left_[entry.worker];
      lives_[entry.worker] = entry.life;
      left_[entry.worker] = message.command == kLeave;
      for (auto& [id, shard] : shards_) {
        // Who was left out goes on where the others are.
        if (back && setup_.mode == Mode::sync && entry.worker < shard.pushed.size())
          shard.pushed[entry.worker] = std::max(shard.pushed[entry.worker], shard.version);
        complete_rounds(id, shard);
        for (auto& [number, round] : shard.rounds) add_prefix(id, shard, number, round);
      }
      return;
    }
    case kSetOptimizer: {
      optimizer_ = make_optimizer(runtime_, spec_of(message.texts), code_);
      return;
    }
    case kInit: return init(message);
    default: return push(message);
  }
}

void ShardGroup::init(const comm::Message& message) {
  Entry entry(message);
  const int64_t part = entry.reader.number();
  const DType dtype = to_dtype(entry.reader.number());
  setup_.mode = static_cast<Mode>(entry.reader.number());
  setup_.staleness = entry.reader.number();
  ShardValue& shard = shards_[{entry.reader.text(), part}];
  shard.pushed.resize(static_cast<size_t>(entry.reader.number()));
  const NDArray given = array_of(runtime_.engine(), message.payload[0], dtype);
  shard.value[0] = copy_to(given, Device::cpu());
  shard.value[1] = NDArray(runtime_.engine(), given.shape(), dtype, Device::cpu());
  value_bytes_ += static_cast<size_t>(given.bytes());
}

void ShardGroup::push(const comm::Message& message) {
  Entry entry(message);
  const int64_t part = entry.reader.number();
  const ShardId id{entry.reader.text(), part};
  ShardValue& shard = shards_.at(id);
  const int64_t number = entry.reader.number();
  const bool large = message.payload[0].size() > kSmallItem;  // others are not worth being counted
  Given given{true, Packing::read(entry.reader),
              large ? backlog_->count(message.payload[0]) : message.payload[0]};
  if (never_pushed(shard.pushed)) ++begun_;
  shard.pushed[entry.worker] = number;
  if (setup_.mode != Mode::sync) {
    const Request request(runtime_, "kvstore_update", key_of_wire(id.first), 0);
    update(request, id, shard, {}, {&given, 1});
    return keep_for_cut(id, shard);
  }
  Round& round = shard.rounds[number];
  round.given.resize(shard.pushed.size());
  round.came.resize(shard.pushed.size());
  held_ += given.bytes.size();
  round.given[entry.worker] = std::move(given);
  round.came[entry.worker] = true;
  complete_rounds(id, shard);
  if (const auto left = shard.rounds.find(number); left != shard.rounds.end())
    add_prefix(id, shard, number, left->second);
}

std::optional<NDArray> ShardGroup::find(const comm::Message& pull) const {
  Entry entry(pull);
  const int64_t part = entry.reader.number();
  const int64_t number = entry.reader.number();
  const ShardValue* const shard = find_shard(entry.reader.text(), part);
  if (shard == nullptr) return std::nullopt;
  LOOMIX_CHECK(shard->optimizer.failure.empty(), StateError, "{}", shard->optimizer.failure);
  const NDArray& newest = shard->value[shard->newest];
  if (setup_.mode == Mode::sync) {
    if (shard->version < number) return std::nullopt;
    // Later than asked for: a worker that was started again repeats its last round.
    const bool before = shard->version == number + 1 && shard->has_previous;
    return before ? shard->value[1 - shard->newest] : newest;
  }
  if (entry.worker < shard->pushed.size() && shard->pushed[entry.worker] < number) return std::nullopt;
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

comm::Message ShardGroup::known_of(int32_t worker) const {
  comm::Message known;
  const auto rank = static_cast<size_t>(worker);
  for (const auto& [id, shard] : shards_) {
    known.texts.push_back(id.first);
    known.fields.push_back(id.second);
    known.fields.push_back(rank < shard.pushed.size() ? shard.pushed[rank] : 0);
  }
  return known;
}

void ShardGroup::put_setup(Picture& picture, size_t workers) const {
  std::vector<int64_t>& fields = picture.head.fields;
  std::vector<std::string>& texts = picture.head.texts;
  fields = {static_cast<int64_t>(setup_.mode), setup_.staleness, static_cast<int64_t>(workers)};
  for (size_t worker = 0; worker < workers; ++worker) {
    fields.push_back(lives_[worker]);
    fields.push_back(left_[worker]);
  }
  fields.push_back(optimizer_ != nullptr ? static_cast<int64_t>(optimizer_->spec().settings.size()) : -1);
  if (optimizer_) {
    texts.push_back(optimizer_->spec().name);
    for (const auto& [name, value] : optimizer_->spec().settings) texts.insert(texts.end(), {name, value});
  }
  fields.push_back(static_cast<int64_t>(shards_.size()));
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
};

void put_shard(ShardGroup::Picture& picture, const ShardPicture& shard) {
  std::vector<int64_t>& fields = picture.head.fields;
  picture.head.texts.push_back(shard.id.first);
  fields.insert(fields.end(),
                {shard.id.second, static_cast<int64_t>(shard.values[0].dtype()),
                 static_cast<int64_t>(shard.values.size()), shard.newest, shard.has_previous, shard.version,
                 shard.optimizer.updates, static_cast<int64_t>(shard.optimizer.arrays.size()),
                 static_cast<int64_t>(shard.pushed.size())});
  fields.insert(fields.end(), shard.pushed.begin(), shard.pushed.end());
  for (const NDArray& array : shard.optimizer.arrays) fields.push_back(static_cast<int64_t>(array.dtype()));
  picture.arrays.insert(picture.arrays.end(), shard.values.begin(), shard.values.end());
  picture.arrays.insert(picture.arrays.end(), shard.optimizer.arrays.begin(), shard.optimizer.arrays.end());
}

}  // namespace

ShardGroup::Picture ShardGroup::picture() const {
  Picture picture;
  put_setup(picture, lives_.size());
  std::vector<int64_t>& fields = picture.head.fields;
  for (const auto& [id, shard] : shards_) {
    put_shard(picture, {id, shard.value, shard.newest, shard.has_previous, shard.version, shard.optimizer,
                        shard.pushed});
    fields.push_back(static_cast<int64_t>(shard.rounds.size()));
    for (const auto& [number, round] : shard.rounds) {
      const bool own = !round.sum.is_none() && !round.in_place;
      fields.insert(fields.end(), {number, static_cast<int64_t>(round.next), own, round.in_place});
      if (own) picture.arrays.push_back(round.sum);
      for (size_t worker = 0; worker < round.given.size(); ++worker) {
        const Given& given = round.given[worker];
        fields.push_back(round.came[worker]);
        fields.push_back(given.there);
        given.packing.append_to(fields);
        if (given.there) picture.arrays.push_back(array_of(runtime_.engine(), given.bytes, DType::uint8));
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
    put_shard(picture, {id, {&one.value, 1}, 0, false, one.version, one.optimizer, one.pushed});
    picture.head.fields.push_back(0);  // rounds
  }
  return picture;
}

void ShardGroup::load(const comm::Message& message) {
  Reader reader(message);
  size_t next = 0;
  const auto take_bytes = [&]() -> const comm::Buffer& {
    LOOMIX_CHECK(next < message.payload.size(), NetworkError,
                 "[KVStore] a snapshot has {} arrays; expected more.", message.payload.size());
    return message.payload[next++];
  };
  const auto take = [&](DType dtype) {
    return copy_to(array_of(runtime_.engine(), take_bytes(), dtype), Device::cpu());
  };
  setup_.mode = static_cast<Mode>(reader.number(0, 2));
  setup_.staleness = reader.number();
  lives_.resize(static_cast<size_t>(reader.number(0, kMostWorkers)));
  left_.resize(lives_.size());
  for (size_t worker = 0; worker < lives_.size(); ++worker) {
    lives_[worker] = reader.number();
    left_[worker] = reader.number(0, 1) != 0;
  }
  const int64_t settings = reader.number(-1, 65536);
  optimizer_ = nullptr;
  if (settings >= 0) {
    OptimizerSpec spec{reader.text(), {}};
    for (int64_t i = 0; i < settings; ++i) {
      std::string name = reader.text();
      spec.settings.emplace_back(std::move(name), reader.text());
    }
    optimizer_ = make_optimizer(runtime_, std::move(spec), code_);
  }
  shards_.clear();
  begun_ = held_ = value_bytes_ = 0;
  const int64_t shards = reader.number(0, int64_t{1} << 32);
  for (int64_t i = 0; i < shards; ++i) {
    const std::string& key = reader.text();
    const int64_t part = reader.number();
    const DType dtype = to_dtype(reader.number());
    ShardValue& shard = shards_[{key, part}];
    const int64_t values = reader.number(1, 2);
    shard.newest = static_cast<int>(reader.number(0, values - 1));
    shard.has_previous = reader.number(0, values - 1) != 0;
    shard.version = reader.number();
    shard.optimizer.updates = reader.number();
    const int64_t arrays = reader.number(0, 16);
    shard.pushed.resize(static_cast<size_t>(reader.number(1, kMostWorkers)));
    for (int64_t& pushed : shard.pushed) pushed = reader.number();
    std::vector<DType> dtypes;  // of what the optimizer keeps
    for (int64_t k = 0; k < arrays; ++k) dtypes.push_back(to_dtype(reader.number()));
    if (!never_pushed(shard.pushed)) ++begun_;
    shard.value[0] = take(dtype);
    shard.value[1] =
        values == 2 ? take(dtype) : NDArray(runtime_.engine(), shard.value[0].shape(), dtype, Device::cpu());
    for (const DType kept : dtypes) shard.optimizer.arrays.push_back(take(kept));
    const int64_t rounds = reader.number(0, int64_t{1} << 32);
    for (int64_t k = 0; k < rounds; ++k) {
      Round& round = shard.rounds[reader.number()];
      round.given.resize(shard.pushed.size());
      round.came.resize(shard.pushed.size());
      round.next = static_cast<size_t>(reader.number(0, static_cast<int64_t>(round.given.size())));
      if (reader.number(0, 1) != 0) round.sum = take(dtype_of_sum(dtype));
      round.in_place = reader.number(0, 1) != 0;
      if (round.in_place) round.sum = shard.value[1 - shard.newest];
      LOOMIX_CHECK(round.sum.is_none() || round.sum.size() == shard.value[0].size(), NetworkError,
                   "[KVStore] a snapshot has a sum of {} elements for key {}, which has {}.",
                   round.sum.size(), to_text(key_of_wire(key)), shard.value[0].size());
      for (size_t worker = 0; worker < round.given.size(); ++worker) {
        Given& given = round.given[worker];
        round.came[worker] = reader.number(0, 1) != 0;
        given.there = reader.number(0, 1) != 0;
        given.packing = Packing::read(reader);
        if (!given.there) continue;
        given.bytes = take_bytes();
        given.packing.check(given.bytes, shard.value[0].size(), dtype);
        held_ += given.bytes.size();
      }
    }
    value_bytes_ += static_cast<size_t>(shard.value[0].bytes());
  }
}

}  // namespace loomix::kvstore
