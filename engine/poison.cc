// SPDX-License-Identifier: Apache-2.0
#include "engine/poison.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <tuple>
#include <typeinfo>
#include <utility>

#include "base/error.h"

namespace loomix::engine {
namespace {

// A copy of `error` with `context` appended, if its dynamic type is exactly T. Copying keeps an exception that several
// tasks share (a lost peer) free of the others' context, and of races.
template <class T>
bool copy_with_context(const Error& error, const std::string& context, std::exception_ptr& copy) {
  if (typeid(error) != typeid(T)) return false;
  T extended(error.what());
  extended.add_context(context);
  copy = std::make_exception_ptr(std::move(extended));
  return true;
}

std::exception_ptr with_context(const std::exception_ptr& error, const std::string& context) {
  if (context.empty()) return error;
  std::exception_ptr copy;
  try {
    std::rethrow_exception(error);
  } catch (Error& e) {
    const bool known =
        [&]<class... T>(std::tuple<T*...>*) {
          return (copy_with_context<T>(e, context, copy) || ...);
        }(static_cast<std::tuple<ValueError*, ShapeError*, TypeError*, IndexError*, KeyError*, FileError*,
                                 DeviceError*, MemoryError*, NetworkError*, NotImplementedError*, StateError*,
                                 InternalError*, Error*>*>(nullptr));
    if (!known) {
      static std::mutex mutex;
      const std::lock_guard lock(mutex);
      e.add_context(context);
      copy = error;
    }
  } catch (const std::bad_alloc&) {
    MemoryError extended("[engine] out of memory.");
    extended.add_context(context);
    copy = std::make_exception_ptr(std::move(extended));
  } catch (...) {
    copy = error;
  }
  return copy;
}

}  // namespace

Poison::Poison(std::exception_ptr error, std::string context, Ref<PoisonCount> count)
    : error_(with_context(error, context)), context_(std::move(context)), count_(std::move(count)) {}

void Poison::rethrow() const {
  mark_reported();
  std::rethrow_exception(error_);
}

// Errors die outside of the lock: their destructors may be foreign code.
void ErrorLog::add(Ref<Poison> poison) {
  std::vector<Ref<Poison>> old;
  const std::lock_guard lock(mutex_);
  if (errors_.size() >= kLimit) {
    const auto first_old = std::stable_partition(errors_.begin(), errors_.end(),
                                                 [](const Ref<Poison>& error) { return !error->reported(); });
    old.assign(std::make_move_iterator(first_old), std::make_move_iterator(errors_.end()));
    errors_.erase(first_old, errors_.end());
    if (errors_.size() >= kLimit) return;
  }
  errors_.push_back(std::move(poison));
}

void ErrorLog::throw_first() {
  std::vector<Ref<Poison>> old;
  Ref<Poison> first;
  {
    const std::lock_guard lock(mutex_);
    size_t next = 0;
    while (next < errors_.size() && !errors_[next]->mark_reported()) ++next;
    if (next < errors_.size()) first = errors_[next++];
    const auto end = errors_.begin() + static_cast<std::ptrdiff_t>(next);
    old.assign(std::make_move_iterator(errors_.begin()), std::make_move_iterator(end));
    errors_.erase(errors_.begin(), end);
  }
  if (first) first->rethrow();
}

}  // namespace loomix::engine
