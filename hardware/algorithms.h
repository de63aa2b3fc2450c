// Algorithms over whole ranges, with projections, as in std::ranges, which the standard library of
// the WebAssembly compiler does not have.
//
//   const auto term = algorithms::find(terms, Resource::l2, &Term::resource);
//   algorithms::stable_sort(spans, std::less<>(), &Span::from);
//
// Only what ridge uses; ranges of contiguous or random access, passed by name, not temporaries.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace ridge::algorithms {

struct Identity {
    template <class Value>
    constexpr Value&& operator()(Value&& value) const noexcept {
        return std::forward<Value>(value);
    }
};

template <class Range, class Predicate, class Projection = Identity>
[[nodiscard]] constexpr auto find_if(Range&& range, Predicate predicate,
                                     Projection projection = {}) {
    return std::find_if(std::begin(range), std::end(range), [&](auto&& element) {
        return static_cast<bool>(std::invoke(predicate, std::invoke(projection, element)));
    });
}

template <class Range, class Predicate>
[[nodiscard]] constexpr auto find_if_not(Range&& range, Predicate predicate) {
    return std::find_if_not(std::begin(range), std::end(range), std::ref(predicate));
}

template <class Range, class Value, class Projection = Identity>
[[nodiscard]] constexpr auto find(Range&& range, const Value& value, Projection projection = {}) {
    return std::find_if(std::begin(range), std::end(range),
                        [&](auto&& element) { return std::invoke(projection, element) == value; });
}

template <class Range, class Predicate>
[[nodiscard]] constexpr bool any_of(Range&& range, Predicate predicate) {
    return std::any_of(std::begin(range), std::end(range), std::ref(predicate));
}

template <class Range, class Predicate>
[[nodiscard]] constexpr bool none_of(Range&& range, Predicate predicate) {
    return std::none_of(std::begin(range), std::end(range), std::ref(predicate));
}

template <class Range, class Predicate>
[[nodiscard]] constexpr auto count_if(Range&& range, Predicate predicate) {
    return std::count_if(std::begin(range), std::end(range), std::ref(predicate));
}

template <class Range, class Predicate>
[[nodiscard]] constexpr auto adjacent_find(Range&& range, Predicate predicate) {
    return std::adjacent_find(std::begin(range), std::end(range), std::ref(predicate));
}

/// Compares the projections of both ranges, element by element.
template <class First, class Second, class Projection>
[[nodiscard]] constexpr bool equal(First&& first, Second&& second, Projection projection) {
    return std::equal(std::begin(first), std::end(first), std::begin(second), std::end(second),
                      [&](auto&& one, auto&& other) {
                          return std::invoke(projection, one) == std::invoke(projection, other);
                      });
}

template <class Range, class Projection>
[[nodiscard]] constexpr auto max_element(Range&& range, Projection projection) {
    return std::max_element(std::begin(range), std::end(range), [&](auto&& one, auto&& other) {
        return std::invoke(projection, one) < std::invoke(projection, other);
    });
}

/// Equal elements keep their order.
template <class Range, class Less, class Projection = Identity>
constexpr void stable_sort(Range&& range, Less less, Projection projection = {}) {
    std::stable_sort(std::begin(range), std::end(range), [&](auto&& one, auto&& other) {
        return std::invoke(less, std::invoke(projection, one), std::invoke(projection, other));
    });
}

}  // namespace ridge::algorithms
