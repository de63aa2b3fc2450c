// A vector with a fixed capacity and no allocation, so that a prediction is a plain value.
#pragma once

#include <array>
#include <cstddef>

#include "hardware/error.h"

namespace ridge::model {

template <class T, std::size_t capacity>
class StaticVector {
  public:
    constexpr void push_back(const T& value) {
        RIDGE_CONTRACT(size_ < capacity);
        values_[size_++] = value;
    }
    [[nodiscard]] constexpr bool full() const { return size_ == capacity; }
    [[nodiscard]] constexpr std::size_t size() const { return size_; }
    [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
    [[nodiscard]] constexpr const T& operator[](std::size_t index) const { return values_[index]; }
    [[nodiscard]] constexpr T& operator[](std::size_t index) { return values_[index]; }
    [[nodiscard]] constexpr const T* begin() const { return values_.data(); }
    [[nodiscard]] constexpr const T* end() const { return values_.data() + size_; }
    [[nodiscard]] constexpr T* begin() { return values_.data(); }
    [[nodiscard]] constexpr T* end() { return values_.data() + size_; }

  private:
    std::array<T, capacity> values_{};
    std::size_t size_ = 0;
};

}  // namespace ridge::model
