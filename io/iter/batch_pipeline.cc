// SPDX-License-Identifier: Apache-2.0
#include "io/iter/batch_pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "io/record/image_record.h"

namespace loomix::io {
namespace {

constexpr size_t kReasonsKept = 1000;
constexpr uint32_t kMakeCostNs = 10'000'000;

uint64_t id_of(Bytes record) {
  uint64_t id = 0;
  if (record.size() >= kImageHeaderBytes) std::memcpy(&id, record.data() + 8, sizeof id);
  return id;
}

engine::TaskInfo task(engine::Lane lane, const char* (*name)(const void*)) {
  engine::TaskInfo info;
  info.lane = lane;
  info.cost_ns = kMakeCostNs;
  info.describe.name = name;
  info.may_be_unused = true;
  return info;
}

}  // namespace

struct BatchPipeline::Batch {
  struct Sample {
    size_t begin, size;  // in `bytes`
    const std::string* file;
    uint64_t offset;
    uint64_t pass, place;
  };

  // Written by the read task; guarded by `records`.
  engine::VarRef records;
  std::vector<uint8_t> bytes;
  std::vector<Sample> samples;
  std::vector<uint64_t> ids;
  int64_t pad = 0;
  bool end = false;       // no batch: the pass is over
  uint64_t left_out = 0;  // records that the stream left out

  NDArray data, label;
  std::byte* data_place = nullptr;
  float* label_place = nullptr;

  // While it is made.
  std::atomic<bool> cancelled{false};
  std::atomic<size_t> next_sample{0};
  std::atomic<int> makers_left{0};
  std::optional<engine::Completion> completion;
  std::mutex mutex;
  std::vector<std::pair<size_t, std::exception_ptr>> failures;
  std::vector<std::string> reasons;  // of those that were left out
};

struct BatchPipeline::Shared {
  Shared(engine::Engine& e, PipelineOptions o, std::unique_ptr<RecordStream> s)
      : engine(e), options(std::move(o)), stream(std::move(s)), reader(e.new_var()) {}

  engine::Engine& engine;
  const PipelineOptions options;
  const pid_t process = getpid();
  int64_t data_bytes = 0, label_floats = 0;

  // Of the read tasks, ordered by `reader`.
  std::unique_ptr<RecordStream> stream;
  engine::VarRef reader;
  uint64_t pass = 0, place = 0;
  bool end_is_due = false;         // the pass gave its last batch, and nobody was told yet
  bool is_over = false;            // the next batch is of the next pass
  bool continues = false;          // its first samples went into the last batch of the pass before
  bool any = false;                // this pass gave a record
  std::exception_ptr begin_error;  // why the pass could not begin, for who reads next
  uint64_t damages_seen = 0;       // of the stream's count

  // One a maker, in use by one task at a time.
  std::vector<std::unique_ptr<SampleMaker>> makers;
  std::vector<engine::VarRef> maker_vars;

  std::mutex mutex;
  std::vector<std::vector<uint8_t>> spare_bytes;

  void begin_pass(std::optional<uint64_t> number);
  void begin_stream(uint64_t number);
  std::optional<RecordStream::Record> next_record(Batch& batch);
  void read(Batch& batch);
  void add(Batch& batch, const RecordStream::Record& record);
  void make(SampleMaker& maker, Batch& batch, size_t i);
  void make_all(int which, const std::shared_ptr<Batch>& batch);
  void complete(Batch& batch);
  void leave_out_failures(Batch& batch);
};

// The pass of this number from its beginning, or else the one that follows the pass that is over.
void BatchPipeline::Shared::begin_pass(std::optional<uint64_t> number) {
  end_is_due = is_over = any = false;
  if (std::exchange(continues, false) && !number) return;
  try {
    begin_stream(number.value_or(pass + 1));
  } catch (...) {
    begin_error = std::current_exception();
  }
}

void BatchPipeline::Shared::begin_stream(uint64_t number) {
  pass = number;
  place = 0;
  stream->begin(number);
  damages_seen = stream->damage_count();
}

std::optional<RecordStream::Record> BatchPipeline::Shared::next_record(Batch& batch) {
  auto record = stream->next();
  batch.left_out += stream->damage_count() - std::exchange(damages_seen, stream->damage_count());
  if (record) any = true;
  return record;
}

void BatchPipeline::Shared::add(Batch& batch, const RecordStream::Record& record) {
  batch.samples.push_back(
      {batch.bytes.size(), record.bytes.size(), record.file, record.offset, pass, place++});
  batch.ids.push_back(id_of(record.bytes));
  batch.bytes.insert(batch.bytes.end(), record.bytes.begin(), record.bytes.end());
}

void BatchPipeline::Shared::read(Batch& batch) {
  const auto wanted = static_cast<size_t>(options.batch_size);
  if (batch.cancelled.load(std::memory_order_relaxed)) return;
  if (end_is_due) {
    end_is_due = false;
    is_over = batch.end = true;
    return;
  }
  if (is_over) begin_pass(std::nullopt);  // ahead of reset(), so that training need not wait there
  if (begin_error) std::rethrow_exception(std::exchange(begin_error, nullptr));
  {
    const std::lock_guard lock(mutex);
    if (!spare_bytes.empty()) {
      batch.bytes = std::move(spare_bytes.back());
      spare_bytes.pop_back();
    }
  }
  int restarts = 0;
  while (batch.samples.size() < wanted) {
    if (const auto record = next_record(batch)) {
      add(batch, *record);
      restarts = 0;
      continue;
    }
    const bool nothing_left = batch.samples.empty();
    if (nothing_left && any) {
      is_over = batch.end = true;
      return;
    }
    LOOMIX_CHECK(++restarts < 2, FileError, "[{}] there are no records to read.", options.who);
    // A pass whose samples all went into the batch before is left out.
    if (!nothing_left) {
      end_is_due = true;
      if (batch.pad == 0) batch.pad = static_cast<int64_t>(wanted - batch.samples.size());
      if (!options.round_batch) return;
      continues = true;
    }
    begin_stream(pass + 1);
  }
}

void BatchPipeline::Shared::make(SampleMaker& maker, Batch& batch, size_t i) {
  const Batch::Sample& sample = batch.samples[i];
  SampleRandom random(options.seed, sample.pass, sample.place);
  try {
    maker.make(Bytes(batch.bytes).subspan(sample.begin, sample.size), random,
               batch.data_place + int64_t(i) * data_bytes, batch.label_place + int64_t(i) * label_floats);
  } catch (...) {
    std::exception_ptr error;
    try {
      throw;
    } catch (Error& known) {
      known.add_context(
          fmt::format("in {}, record at offset {} (id {})", *sample.file, sample.offset, batch.ids[i]));
      error = std::current_exception();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(batch.mutex);
    batch.failures.emplace_back(i, error);
  }
}

void BatchPipeline::Shared::make_all(int which, const std::shared_ptr<Batch>& batch) {
  SampleMaker& maker = *makers[size_t(which)];
  while (!batch->cancelled.load(std::memory_order_relaxed)) {
    const size_t i = batch->next_sample.fetch_add(1, std::memory_order_relaxed);
    if (i >= batch->samples.size()) break;
    make(maker, *batch, i);
  }
  if (batch->makers_left.fetch_sub(1, std::memory_order_acq_rel) == 1) complete(*batch);
}

void BatchPipeline::Shared::complete(Batch& batch) {
  engine::Completion completion = std::move(*batch.completion);
  batch.completion.reset();
  try {
    std::sort(batch.failures.begin(), batch.failures.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    if (!batch.failures.empty()) {
      if (!options.skip_damaged) std::rethrow_exception(batch.failures[0].second);
      leave_out_failures(batch);
    }
    // Only the unrounded last batch is not full.
    const auto made = static_cast<int64_t>(batch.samples.size()), empty = options.batch_size - made;
    std::memset(batch.data_place + made * data_bytes, 0, size_t(empty * data_bytes));
    std::fill_n(batch.label_place + made * label_floats, empty * label_floats, 0.0f);
    batch.bytes.clear();
    {
      const std::lock_guard lock(mutex);
      spare_bytes.push_back(std::move(batch.bytes));
    }
    completion.done();
  } catch (...) {
    completion.fail(std::current_exception());
  }
}

// Moves the samples that were made to the front, and fills up with copies of the first ones.
void BatchPipeline::Shared::leave_out_failures(Batch& batch) {
  const size_t count = batch.samples.size();
  std::vector<bool> failed(count, false);
  for (const auto& [i, error] : batch.failures) {
    failed[i] = true;
    std::string reason = "unknown";
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& known) {
      reason = known.what();
    }
    batch.reasons.push_back(std::move(reason));
  }
  if (batch.failures.size() == count) std::rethrow_exception(batch.failures[0].second);
  const auto move = [&](size_t from, size_t to) {
    std::memmove(batch.data_place + int64_t(to) * data_bytes, batch.data_place + int64_t(from) * data_bytes,
                 size_t(data_bytes));
    std::copy_n(batch.label_place + int64_t(from) * label_floats, label_floats,
                batch.label_place + int64_t(to) * label_floats);
    batch.ids[to] = batch.ids[from];
  };
  const size_t real = count - static_cast<size_t>(options.round_batch ? batch.pad : 0);
  size_t good = 0, good_real = 0;
  for (size_t i = 0; i < count; ++i) {
    if (failed[i]) continue;
    if (i != good) move(i, good);
    ++good;
    if (i < real) ++good_real;
  }
  for (size_t i = good; i < count; ++i) move(i - good, i);
  batch.pad = options.batch_size - static_cast<int64_t>(good_real);
}

BatchPipeline::BatchPipeline(engine::Engine& engine, PipelineOptions options,
                             std::unique_ptr<RecordStream> stream, const MakerFactory& maker) {
  LOOMIX_CHECK(options.batch_size >= 1, ValueError, "[{}] batch_size is {}; expected at least 1.",
               options.who, options.batch_size);
  LOOMIX_CHECK(options.threads >= 1, ValueError, "[{}] preprocess_threads is {}; expected at least 1.",
               options.who, options.threads);
  options.prefetch = std::max<int64_t>(options.prefetch, 1);
  options.threads = std::min<int>(options.threads, 256);
  shared_ = std::make_shared<Shared>(engine, std::move(options), std::move(stream));
  shared_->data_bytes = shared_->options.data_shape.size() * size_of(shared_->options.dtype);
  shared_->label_floats = shared_->options.label_shape.size();
  for (int i = 0; i < shared_->options.threads; ++i) {
    shared_->makers.push_back(maker());
    shared_->maker_vars.push_back(engine.new_var());
  }
  fill();
}

BatchPipeline::~BatchPipeline() {
  for (const auto& batch : ahead_) batch->cancelled = true;
}

void BatchPipeline::fill() {
  while (static_cast<int64_t>(ahead_.size()) < shared_->options.prefetch) push_batch();
}

void BatchPipeline::push_batch() {
  const PipelineOptions& options = shared_->options;
  engine::Engine& engine = shared_->engine;
  const auto with_batch = [&](const Shape& sample) {
    std::vector<int64_t> dims = {options.batch_size};
    for (int i = 0; i < sample.ndim(); ++i) dims.push_back(sample[i]);
    return Shape(std::span<const int64_t>(dims));
  };
  auto batch = std::make_shared<Batch>();
  batch->records = engine.new_var();
  const Device device = batch_device(options.target);
  batch->data = NDArray(engine, with_batch(options.data_shape), options.dtype, device);
  batch->label = NDArray(engine, with_batch(options.label_shape), DType::float32, device);
  const engine::Tag read_tags[] = {{shared_->reader.get(), engine::Access::use},
                                   {batch->records.get(), engine::Access::write}};
  engine.push(task(engine::Lane::io, [](const void*) { return "read records"; }), read_tags,
              [shared = shared_, batch](engine::RunContext&) { shared->read(*batch); });
  const engine::Tag make_tags[] = {{batch->records.get(), engine::Access::read},
                                   {&batch->data.var(), engine::Access::write},
                                   {&batch->label.var(), engine::Access::write}};
  engine::TaskInfo info = task(engine::Lane::compute, [](const void*) { return "make samples"; });
  info.bytes = batch->data.bytes();
  engine.push_async(
      info, make_tags, [shared = shared_, batch](engine::RunContext&, engine::Completion completion) {
        if (batch->end || batch->cancelled || batch->samples.empty()) return completion.done();
        batch->data_place = static_cast<std::byte*>(batch->data.view().data);
        batch->label_place = static_cast<float*>(batch->label.view().data);
        batch->completion.emplace(std::move(completion));
        const int tasks = std::min<int>(shared->options.threads, static_cast<int>(batch->samples.size()));
        batch->makers_left = tasks;
        for (int i = 0; i < tasks; ++i) {
          const engine::Tag tags[] = {{shared->maker_vars[size_t(i)].get(), engine::Access::use}};
          shared->engine.push(task(engine::Lane::compute, [](const void*) { return "decode and augment"; }),
                              tags, [shared, batch, i](engine::RunContext&) { shared->make_all(i, batch); });
        }
      });
  ahead_.push_back(std::move(batch));
}

bool BatchPipeline::next() {
  LOOMIX_CHECK(getpid() == shared_->process, StateError,
               "[{}] the iterator was made before a fork; make one in the child.", shared_->options.who);
  if (ended_) return false;
  std::shared_ptr<Batch> batch = std::move(ahead_.front());
  ahead_.pop_front();
  push_batch();
  current_ = nullptr;  // if this throws
  shared_->engine.wait(*batch->records);
  current_ = std::move(batch);
  skipped_ += current_->left_out;
  ended_ = current_->end;
  if (ended_) return false;
  consumed_ = true;
  pass_ = current_->samples.front().pass;
  if (shared_->options.skip_damaged) wait_for_samples();
  return true;
}

void BatchPipeline::wait_for_samples() {
  std::exception_ptr error;
  try {
    shared_->engine.wait(current_->data.var());
  } catch (const Error&) {
    error = std::current_exception();
  }
  skipped_ += current_->reasons.size();
  for (std::string& reason : current_->reasons) {
    if (reasons_.size() < kReasonsKept) reasons_.push_back(std::move(reason));
  }
  if (error) std::rethrow_exception(error);
}

void BatchPipeline::reset() {
  const bool in_the_middle = consumed_ && !ended_;
  ended_ = consumed_ = false;
  if (!in_the_middle) return;  // the batches ahead are those of the next pass
  for (const auto& batch : ahead_) batch->cancelled = true;
  ahead_.clear();
  const engine::Tag tags[] = {{shared_->reader.get(), engine::Access::use}};
  shared_->engine.push(
      task(engine::Lane::io, [](const void*) { return "begin pass"; }), tags,
      [shared = shared_, pass = pass_ + 1](engine::RunContext&) { shared->begin_pass(pass); });
  fill();
}

const NDArray& BatchPipeline::data() const {
  LOOMIX_CHECK(current_ && !ended_, StateError, "[{}] there is no current batch; call next() first.",
               shared_->options.who);
  return current_->data;
}
const NDArray& BatchPipeline::label() const {
  data();
  return current_->label;
}
int64_t BatchPipeline::pad() const {
  data();
  return current_->pad;
}
const std::vector<uint64_t>& BatchPipeline::index() const {
  data();
  return current_->ids;
}
const PipelineOptions& BatchPipeline::options() const { return shared_->options; }

}  // namespace loomix::io
