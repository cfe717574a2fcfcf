// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace loomix {

// A vector whose first N elements live inside it: hot paths hold a handful of items and must not allocate.
template <class T, size_t N>
class InlineVector {
 public:
  InlineVector() noexcept {}
  explicit InlineVector(size_t count) { resize(count); }
  InlineVector(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  explicit InlineVector(std::span<const T> items) { append(items.begin(), items.end()); }
  InlineVector(const InlineVector& other) { append(other.begin(), other.end()); }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) {
      clear();
      release();
      take(other);
    }
    return *this;
  }
  ~InlineVector() {
    clear();
    release();
  }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  T& operator[](size_t i) noexcept { return data_[i]; }
  const T& operator[](size_t i) const noexcept { return data_[i]; }
  T& back() noexcept { return data_[size_ - 1]; }
  const T& back() const noexcept { return data_[size_ - 1]; }
  operator std::span<T>() noexcept { return {data_, size_}; }
  operator std::span<const T>() const noexcept { return {data_, size_}; }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) [[unlikely]] {
      T item(std::forward<Args>(args)...);  // the arguments may point into this vector
      reserve(2 * capacity_);
      return *::new (data_ + size_++) T(std::move(item));
    }
    return *::new (data_ + size_++) T(std::forward<Args>(args)...);
  }
  void push_back(const T& item) { emplace_back(item); }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  void pop_back() noexcept { data_[--size_].~T(); }
  template <class It>
  void append(It first, It last) {
    reserve(size_ + static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) ::new (data_ + size_++) T(*first);
  }
  void clear() noexcept {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void resize(size_t count) {
    reserve(count);
    while (size_ > count) pop_back();
    while (size_ < count) ::new (data_ + size_++) T();
  }
  void reserve(size_t count) {
    if (count <= capacity_) return;
    T* const memory = std::allocator<T>().allocate(count);
    std::uninitialized_move(begin(), end(), memory);
    std::destroy(begin(), end());
    release();
    data_ = memory;
    capacity_ = count;
  }

 private:
  T* inline_data() noexcept { return std::launder(reinterpret_cast<T*>(inline_)); }
  void release() noexcept {
    if (data_ != inline_data()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = inline_data();
    capacity_ = N;
  }
  // This vector must be empty and inline.
  void take(InlineVector& other) noexcept {
    if (other.data_ != other.inline_data()) {
      data_ = std::exchange(other.data_, other.inline_data());
      capacity_ = std::exchange(other.capacity_, N);
      size_ = std::exchange(other.size_, 0);
      return;
    }
    std::uninitialized_move(other.begin(), other.end(), data_);
    size_ = other.size_;
    other.clear();
  }

  T* data_ = inline_data();
  size_t size_ = 0;
  size_t capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace loomix
