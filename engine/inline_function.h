// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace loomix::engine {

template <class Signature, size_t Capacity>
class InlineFunction;

// A move-only callable. Objects of up to Capacity bytes live inside it, larger ones on the heap. Moving a trivially
// copyable object is a copy of its bytes.
template <class R, class... Args, size_t Capacity>
class InlineFunction<R(Args...), Capacity> {
 public:
  InlineFunction() noexcept = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, InlineFunction> &&
           std::is_invocable_r_v<R, std::decay_t<F>&, Args...>) InlineFunction(F&& function)
      : operations_(&kOperations<std::decay_t<F>>) {  // NOLINT: implicit by design
    using Stored = std::decay_t<F>;
    if constexpr (kFits<Stored>) {
      ::new (storage_) Stored(std::forward<F>(function));
    } else {
      ::new (storage_) Stored*(std::make_unique<Stored>(std::forward<F>(function)).release());
    }
  }
  InlineFunction(InlineFunction&& other) noexcept : operations_(std::exchange(other.operations_, nullptr)) {
    if (operations_) take(other);
  }
  InlineFunction& operator=(InlineFunction&& other) noexcept {
    if (this != &other) {
      reset();
      operations_ = std::exchange(other.operations_, nullptr);
      if (operations_) take(other);
    }
    return *this;
  }
  ~InlineFunction() { reset(); }

  void reset() noexcept {
    if (const Operations* operations = std::exchange(operations_, nullptr);
        operations && operations->destroy) {
      operations->destroy(storage_);
    }
  }
  explicit operator bool() const noexcept { return operations_ != nullptr; }
  R operator()(Args... args) { return operations_->invoke(storage_, std::forward<Args>(args)...); }

 private:
  struct Operations {
    R (*invoke)(std::byte*, Args&&...);
    void (*move)(std::byte* from, std::byte* to) noexcept;  // null: copy `bytes` bytes
    void (*destroy)(std::byte*) noexcept;                   // null: nothing to do
    size_t bytes;
  };
  template <class F>
  static constexpr bool kFits = sizeof(F) <= Capacity &&
                                alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;
  template <class F>
  static F& stored(std::byte* storage) noexcept {
    if constexpr (kFits<F>) {
      return *std::launder(reinterpret_cast<F*>(storage));
    } else {
      return **std::launder(reinterpret_cast<F**>(storage));
    }
  }
  template <class F>
  static R invoke(std::byte* storage, Args&&... args) {
    return static_cast<R>(stored<F>(storage)(std::forward<Args>(args)...));
  }
  template <class F>
  static void move(std::byte* from, std::byte* to) noexcept {
    ::new (to) F(std::move(stored<F>(from)));
    stored<F>(from).~F();
  }
  template <class F>
  static void destroy(std::byte* storage) noexcept {
    if constexpr (kFits<F>) {
      stored<F>(storage).~F();
    } else {
      std::unique_ptr<F>(&stored<F>(storage)).reset();
    }
  }
  template <class F>
  static constexpr bool kMoveIsCopy = !kFits<F> || std::is_trivially_copyable_v<F>;
  template <class F>
  static constexpr bool kNoDestroy = kFits<F>&& std::is_trivially_destructible_v<F>;
  template <class F>
  static constexpr Operations kOperations{&invoke<F>, kMoveIsCopy<F> ? nullptr : &move<F>,
                                          kNoDestroy<F> ? nullptr : &destroy<F>,
                                          kFits<F> ? sizeof(F) : sizeof(F*)};

  void take(InlineFunction& other) noexcept {
    if (operations_->move) {
      operations_->move(other.storage_, storage_);
    } else if (operations_->bytes <= 32) {
      std::memcpy(storage_, other.storage_, 32);
    } else {
      std::memcpy(storage_, other.storage_, Capacity);
    }
  }

  const Operations* operations_ = nullptr;
  alignas(void*) std::byte storage_[Capacity];
};

}  // namespace loomix::engine
