// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "io/image/random.h"
#include "io/iter/batch_device.h"
#include "io/iter/record_stream.h"
#include "ndarray/ndarray.h"

// Batches of samples, made from records on the engine's threads while earlier batches are used.
//
//   read   an I/O task a batch, in order: copies records into the batch
//   make   an asynchronous task a batch, which writes its arrays: up to `threads` tasks take sample after sample from a
//          counter, each with a SampleMaker of its own; the last one to find nothing left completes the batch
//
// What a sample becomes follows from the seed, the pass and its place in the pass, not from the task that made it.
namespace loomix::io {

// Makes one sample from one record. One thread at a time.
class SampleMaker {
 public:
  virtual ~SampleMaker() = default;
  // `data` and `label` have room for one sample each and are overwritten whole. Throws an Error without a place.
  virtual void make(Bytes record, SampleRandom& random, std::byte* data, float* label) = 0;
};

struct PipelineOptions {
  std::string who = "iterator";  // for errors and traces
  int64_t batch_size = 1;
  bool round_batch =
      true;  // the last batch is filled from the next pass, which then begins later; else with zeros
  int64_t prefetch = 4;  // batches in work
  int threads = 1;
  uint64_t seed = 0;
  Shape data_shape = {};   // of one sample
  Shape label_shape = {};  // of one sample; () is a number
  DType dtype = DType::float32;
  BatchTarget target = {};
  bool skip_damaged = false;  // leaves samples out that cannot be made, and counts them
};

class BatchPipeline {
 public:
  using MakerFactory = std::function<std::unique_ptr<SampleMaker>()>;

  BatchPipeline(engine::Engine& engine, PipelineOptions options, std::unique_ptr<RecordStream> stream,
                const MakerFactory& maker);
  ~BatchPipeline();

  // Goes to the next batch; false at the end of the pass. Waits until its records were read, and throws what reading
  // threw. What making a sample throws is thrown by reading the arrays. With skip_damaged, waits for the arrays.
  bool next();
  // Begins the next pass, whose first batches are made while the last ones of this pass are used.
  void reset();

  // Of the current batch.
  const NDArray& data() const;
  const NDArray& label() const;
  int64_t pad() const;                         // samples at the end that only fill it up
  const std::vector<uint64_t>& index() const;  // the records' ids

  const PipelineOptions& options() const;
  // Records and samples that were left out up to the current batch, and what was wrong with the first ones.
  uint64_t skipped() const { return skipped_; }
  const std::vector<std::string>& skipped_reasons() const { return reasons_; }

 private:
  struct Batch;
  struct Shared;
  void fill();
  void push_batch();
  void wait_for_samples();

  std::shared_ptr<Shared> shared_;
  std::deque<std::shared_ptr<Batch>> ahead_;
  std::shared_ptr<Batch> current_;
  bool ended_ = false;
  bool consumed_ = false;  // a batch of this pass was handed out
  uint64_t pass_ = 0;      // of the current batch
  uint64_t skipped_ = 0;
  std::vector<std::string> reasons_;
};

}  // namespace loomix::io
