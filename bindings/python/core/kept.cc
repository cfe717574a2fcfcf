// SPDX-License-Identifier: Apache-2.0
// What was given back stands in a stack without locks, so a fork or a thread that died cannot leave one held. Its nodes are
// made by keep(): giving back allocates nothing.
#include "bindings/python/core/kept.h"

#include <atomic>
#include <utility>

namespace loomix::python {
namespace {

struct Node {
  PyObject* object;
  Node* next = nullptr;
};

std::atomic<Node*> given_back{nullptr};
std::atomic<bool> asked{false};  // Python will call drop_when_called
std::atomic<bool> ended{false};

int drop_when_called(void*) {
  asked = false;
  drop_kept();
  return 0;
}

void give_back(Node* node) noexcept {
  if (ended || !Py_IsInitialized()) return;
  node->next = given_back.load(std::memory_order_relaxed);
  while (!given_back.compare_exchange_weak(node->next, node, std::memory_order_release,
                                           std::memory_order_relaxed)) {}
  ask_to_drop_kept();
}

}  // namespace

Kept keep(PyObject* object) {
  drop_kept();  // the main thread may be blocked for long: a program that goes on keeping objects must not pile up dropped ones
  auto node = std::make_unique<Node>(Node{Py_NewRef(object)});
  return Kept(object, [node = node.release()](PyObject*) { give_back(node); });
}

void drop_kept() noexcept {
  if (given_back.load(std::memory_order_relaxed) == nullptr) return;
  Node* node = given_back.exchange(nullptr, std::memory_order_acquire);
  while (node) {
    const std::unique_ptr<Node> last(std::exchange(node, node->next));
    Py_DECREF(last->object);
  }
}

void ask_to_drop_kept() noexcept {
  if (given_back.load(std::memory_order_relaxed) == nullptr || ended || asked.exchange(true)) return;
  if (Py_AddPendingCall(drop_when_called, nullptr) != 0) asked = false;
}

void stop_dropping_kept() noexcept {
  drop_kept();
  ended = true;
}

}  // namespace loomix::python
