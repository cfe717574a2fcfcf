// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/api/objects.h"
#include "bindings/c/guard.h"
#include "symbol/autograd/tape.h"

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

namespace {

void check_flag(int flag, const char* name) {
  LOOMIX_CHECK(flag >= -1 && flag <= 1, ValueError, "[LoomixAutogradSetMode] {} is {}; expected 0, 1 or -1.",
               name, flag);
}

}  // namespace

int LoomixAutogradSetMode(int recording, int training, int* recording_before, int* training_before) {
  return guarded([&] {
    check_flag(recording, "recording");
    check_flag(training, "training");
    const bool recorded = autograd::is_recording(), trained = autograd::is_training();
    if (recording >= 0) autograd::set_recording(recording == 1);
    if (training >= 0) autograd::set_training(training == 1);
    if (recording_before) *recording_before = recorded;
    if (training_before) *training_before = trained;
  });
}

int LoomixAutogradMark(size_t count, const LoomixArray* arrays, const LoomixArray* gradients,
                       const int32_t* requests) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixAutogradMark";
    if (count > 0) not_null(arrays, kWho, "arrays");
    std::vector<std::shared_ptr<ArrayObject>> objects;
    std::vector<NDArray*> variables;
    std::vector<ops::Req> wanted;
    for (size_t i = 0; i < count; ++i) {
      objects.push_back(find<ArrayObject>(arrays[i]));
      variables.push_back(&objects.back()->array);
      wanted.push_back(to_request(requests ? requests[i] : LOOMIX_WRITE, kWho));
    }
    autograd::mark_variables(variables, to_arrays(count, gradients, kWho), wanted);
  });
}

int LoomixAutogradBackward(size_t count, const LoomixArray* heads, const LoomixArray* head_gradients,
                           int retain_graph, int training) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixAutogradBackward";
    const auto of = to_arrays(count, heads, kWho);
    const auto gradients =
        head_gradients ? to_arrays_or_none(count, head_gradients, kWho) : std::vector<NDArray>();
    autograd::backward(
        running(), of, gradients,
        {.retain_graph = retain_graph != 0, .create_graph = false, .train_mode = training != 0});
  });
}
