// SPDX-License-Identifier: Apache-2.0
#include "fuzz_predict.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "loomix/predict.h"

namespace {

constexpr const char* kMostBytes = "50000000";

// Bytes in order; zeros beyond the end.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }
  uint32_t number(int size = 1) {
    uint32_t value = 0;
    for (int i = 0; i < size && !bytes_.empty(); ++i, bytes_ = bytes_.subspan(1))
      value |= static_cast<uint32_t>(bytes_[0]) << (8 * i);
    return value;
  }
  std::string text(size_t size) {
    size = std::min(size, bytes_.size());
    std::string part(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return part;
  }

 private:
  std::span<const uint8_t> bytes_;
};

struct Inputs {
  std::vector<std::string> names;
  std::vector<const char*> keys;
  std::vector<mx_uint> bounds{0}, sizes;
  std::vector<int> types;

  Inputs() = default;
  explicit Inputs(Reader& reader) {
    constexpr uint32_t kMost = 4;
    for (uint32_t left = std::min(reader.number(), kMost); left > 0; --left) {
      names.push_back(reader.text(reader.number()));
      for (uint32_t axes = reader.number(); axes > 0 && !reader.at_end(); --axes)
        sizes.push_back(reader.number());
      bounds.push_back(static_cast<mx_uint>(sizes.size()));
      types.push_back(static_cast<int>(reader.number()));
    }
    for (const std::string& name : names) keys.push_back(name.c_str());
  }
  mx_uint count() const { return static_cast<mx_uint>(names.size()); }
  mx_uint elements(size_t input) const {
    uint64_t all = 1;
    for (mx_uint i = bounds[input]; i < bounds[input + 1]; ++i) all = std::min<uint64_t>(all * sizes[i], ~0u);
    return static_cast<mx_uint>(all);
  }
};

class Caller {
 public:
  explicit Caller(Reader reader) : reader_(reader) {}

  int run() {
    create();
    constexpr int kMostCalls = 24;
    for (int i = 0; i < kMostCalls && !reader_.at_end(); ++i) {
      const uint32_t choice = reader_.number(), what = reader_.number();
      call(what, choice);
    }
    for (const PredictorHandle handle : handles_) MXPredFree(handle);
    return broken_ ? -1 : failures_;
  }

 private:
  void note(int code) {
    if (code == 0) return;
    ++failures_;
    if (code != -1 || MXGetLastError()[0] == '\0') broken_ = true;
  }

  void create() {
    const uint32_t flags = reader_.number();
    inputs_ = Inputs(reader_);
    const std::string json = reader_.text(reader_.number(2));
    params_ = reader_.text(reader_.number(3));
    const int size = static_cast<int>(params_.size());
    constexpr int kCpu = 1, kThreads = 2;
    PredictorHandle made[kThreads] = {};
    int code = 0;
    if (flags & 1) {
      const char* outputs[] = {flags & 2 ? "fc_output" : "conv"};
      code = MXPredCreatePartialOut(json.c_str(), params_.data(), size, kCpu, 0, inputs_.count(),
                                    inputs_.keys.data(), inputs_.bounds.data(), inputs_.sizes.data(), 1,
                                    outputs, made);
    } else if (flags & 4) {
      code = MXPredCreateMultiThread(json.c_str(), params_.data(), size, kCpu, 0, inputs_.count(),
                                     inputs_.keys.data(), inputs_.bounds.data(), inputs_.sizes.data(),
                                     kThreads, made);
    } else {
      code = MXPredCreateEx(json.c_str(), params_.data(), size, kCpu, 0, inputs_.count(), inputs_.keys.data(),
                            inputs_.bounds.data(), inputs_.sizes.data(), flags & 8 ? inputs_.count() : 0,
                            inputs_.keys.data(), inputs_.types.data(), made);
    }
    note(code);
    for (const PredictorHandle handle : made) {
      if (handle) handles_.push_back(handle);
      broken_ = broken_ || (handle && code != 0);
    }
  }

  PredictorHandle handle(uint32_t choice) const {
    return handles_.empty() ? nullptr : handles_[choice % handles_.size()];
  }

  void set_input(uint32_t choice) {
    if (inputs_.count() == 0) return;
    const size_t input = choice % inputs_.count();
    const mx_uint size = inputs_.elements(input) + (choice >= 192 ? 1 : 0);
    constexpr mx_uint kMost = 1 << 20;
    if (size > kMost) return;
    constexpr float kValues[] = {0,
                                 1,
                                 -1,
                                 0.5f,
                                 1e9f,
                                 -1e30f,
                                 std::numeric_limits<float>::quiet_NaN(),
                                 std::numeric_limits<float>::infinity()};
    std::vector<double> values(size + 1);  // doubles: there are elements of 8 bytes
    float* const data = reinterpret_cast<float*>(values.data());
    for (mx_uint i = 0; i < size; ++i)
      data[i] = choice & 64 ? kValues[(choice + i) % std::size(kValues)] : static_cast<float>(i % 5);
    note(MXPredSetInput(handle(choice), inputs_.keys[input], data, size));
  }

  void get_output(uint32_t choice) {
    mx_uint *shape = nullptr, axes = 0, size = 1;
    int type = 0;
    const mx_uint index = choice % 3;
    const int code = MXPredGetOutputShape(handle(choice), index, &shape, &axes);
    note(code);
    note(MXPredGetOutputType(handle(choice), index, &type));
    if (code != 0) return;
    for (mx_uint i = 0; i < axes; ++i) size *= shape[i];
    std::vector<double> values(static_cast<size_t>(size) + 1);
    note(MXPredGetOutput(handle(choice), index, reinterpret_cast<float*>(values.data()), size));
  }

  void reshape(uint32_t choice) {
    Inputs other = inputs_;
    other.keys.clear();
    for (const std::string& name : other.names) other.keys.push_back(name.c_str());
    if (!other.sizes.empty()) other.sizes[choice % other.sizes.size()] = choice / 16;
    PredictorHandle made = nullptr;
    note(MXPredReshape(other.count(), other.keys.data(), other.bounds.data(), other.sizes.data(),
                       handle(choice), &made));
    if (!made) return;
    handles_.push_back(made);
    inputs_ = std::move(other);
  }

  void list_arrays() {
    NDListHandle list = nullptr;
    mx_uint length = 0, axes = 0;
    const int code = MXNDListCreate(params_.data(), static_cast<int>(params_.size()), &list, &length);
    note(code);
    if (code != 0) return;
    const char* key = nullptr;
    const float* data = nullptr;
    const mx_uint* shape = nullptr;
    for (mx_uint i = 0; i <= length; ++i) note(MXNDListGet(list, i, &key, &data, &shape, &axes));
    note(MXNDListFree(list));
  }

  void call(uint32_t what, uint32_t choice) {
    int left = 0;
    switch (what % 8) {
      case 0: return set_input(choice);
      case 1:
      case 2: return note(MXPredForward(handle(choice)));
      case 3: return get_output(choice);
      case 4: return reshape(choice);
      case 5: return note(MXPredPartialForward(handle(choice), static_cast<int>(choice % 4), &left));
      case 6: return list_arrays();
      default:  // and later calls use a handle that is none any more
        note(MXPredFree(handle(choice)));
    }
  }

  Reader reader_;
  Inputs inputs_;
  std::string params_;
  std::vector<PredictorHandle> handles_;
  int failures_ = 0;
  bool broken_ = false;
};

}  // namespace

int try_predict(std::span<const uint8_t> bytes) { return Caller(Reader(bytes)).run(); }

void bound_memory() { ::setenv("LOOMIX_MAX_MEMORY_BYTES", kMostBytes, 1); }

#ifdef LOOMIX_LIBFUZZER
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  bound_memory();
  return 0;
}
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (try_predict({data, size}) < 0) __builtin_trap();
  return 0;
}
#endif
