// A vector with a fixed capacity and no allocation, so that a prediction is a plain value.
//
// Elements beyond the size are neither initialised nor copied: most predictions use a third of the
// capacity.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "hardware/error.h"

namespace ridge::model {

template <class T, std::size_t capacity>
class StaticVector {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  public:
    StaticVector() = default;
    StaticVector(const StaticVector& other) { take(other); }
    StaticVector& operator=(const StaticVector& other) {
        if (this != &other) take(other);
        return *this;
    }
    ~StaticVector() = default;

    void push_back(const T& value) {
        RIDGE_CONTRACT(size_ < capacity);
        std::construct_at(room_.values.data() + size_++, value);
    }
    void clear() { size_ = 0; }
    [[nodiscard]] bool full() const { return size_ == capacity; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] const T& operator[](std::size_t index) const { return room_.values[index]; }
    [[nodiscard]] T& operator[](std::size_t index) { return room_.values[index]; }
    [[nodiscard]] const T* begin() const { return room_.values.data(); }
    [[nodiscard]] const T* end() const { return begin() + size_; }
    [[nodiscard]] T* begin() { return room_.values.data(); }
    [[nodiscard]] T* end() { return begin() + size_; }

  private:
    /// Storage for the values, which are constructed when they are added.
    union Room {
        Room() {}  // NOLINT(modernize-use-equals-default): nothing needs initialising
        std::array<T, capacity> values;
    };

    void take(const StaticVector& other) {
        std::uninitialized_copy(other.begin(), other.end(), begin());
        size_ = other.size_;
    }

    Room room_;
    std::size_t size_ = 0;
};

}  // namespace ridge::model
