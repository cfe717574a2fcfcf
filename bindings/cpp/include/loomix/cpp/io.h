// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/cpp/ndarray.h"

namespace loomix::cpp {
inline namespace names {

struct DataBatch {
  NDArray data;
  NDArray label;
  int pad_num = 0;         // samples at the end that only fill it up
  std::vector<int> index;  // numbers of the samples
};

// Where batches come from. A class of one's own is derived from this.
class DataIter {
 public:
  virtual ~DataIter() = default;
  virtual void BeforeFirst() = 0;
  virtual bool Next() = 0;
  virtual NDArray GetData() = 0;
  virtual NDArray GetLabel() = 0;
  virtual int GetPadNum() = 0;
  virtual std::vector<int> GetIndex() = 0;

  DataBatch GetDataBatch() { return {GetData(), GetLabel(), GetPadNum(), GetIndex()}; }
  void Reset() { BeforeFirst(); }
};

// An iterator of the library: MNISTIter, CSVIter, ImageRecordIter, ImageDetRecordIter. Copies share it.
class MXDataIter : public DataIter {
 public:
  explicit MXDataIter(const std::string& type) : state_(std::make_shared<State>()) { state_->type = type; }

  template <class T>
  MXDataIter& SetParam(const std::string& name, const T& value) {
    state_->parameters[name] = detail::to_text(value);
    return *this;
  }
  MXDataIter CreateDataIter() {
    const detail::CPairs pairs(state_->parameters);
    LoomixIterator made = nullptr;
    detail::check(LoomixIteratorCreate(state_->type.c_str(), pairs.get(), &made));
    state_->handle = detail::Handle<LoomixIterator>(made);
    return *this;
  }

  void BeforeFirst() override {
    state_->batch = {};
    detail::check(LoomixIteratorReset(state_->handle.get()));
  }
  bool Next() override {
    int more = 0;
    state_->batch = {};
    detail::check(LoomixIteratorNext(state_->handle.get(), &more));
    if (!more) return false;
    LoomixBatch batch{};
    detail::check(LoomixIteratorGetBatch(state_->handle.get(), &batch));
    state_->batch.index.assign(batch.index, batch.index + batch.indices);
    state_->batch.pad_num = static_cast<int>(batch.pad);
    state_->batch.data = NDArray(batch.data);
    state_->batch.label = NDArray(batch.label);
    return true;
  }
  NDArray GetData() override { return state_->batch.data; }
  NDArray GetLabel() override { return state_->batch.label; }
  int GetPadNum() override { return state_->batch.pad_num; }
  std::vector<int> GetIndex() override { return state_->batch.index; }

 private:
  struct State {
    std::string type;
    detail::Pairs parameters;
    detail::Handle<LoomixIterator> handle;
    DataBatch batch;
  };
  std::shared_ptr<State> state_;
};

}  // namespace names
}  // namespace loomix::cpp
