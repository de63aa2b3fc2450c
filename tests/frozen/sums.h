// Sums of the logarithms of many answers' quantities, by name: a line of a table stands for many calls.
//
//   Sums sums;
//   for (const Prediction& p : predictions) {
//       sums.add("time", p.time.in(units::us));
//       sums.next();
//   }
//   sums.text();   // " time 67.94376"
//
// Each call has a weight of its own, so that every call counts and two changes do not cancel.
#pragma once

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hardware/number_text.h"

namespace ridge::test {

/// Sums by name, in the order in which the names first come. The weight of each call is `growth` times that of the one
/// before.
class Sums {
  public:
    explicit Sums(double growth = 1.17) : growth_(growth) {}

    void next() { weight_ *= growth_; }
    void add(std::string_view name, double value) {
        const auto found = std::find_if(sums_.begin(), sums_.end(),
                                        [name](const auto& each) { return each.first == name; });
        auto& sum = found == sums_.end() ? sums_.emplace_back(name, 0.0) : *found;
        sum.second += weight_ * std::copysign(std::log1p(std::abs(value)), value);
    }
    /// Every number of an answer by its place, every word by its letters.
    void add_text(std::string_view text) {
        constexpr std::size_t places = 16;
        std::size_t letters = 0;
        std::size_t place = 0;
        std::istringstream words{std::string(text)};
        for (std::string word; words >> word;) {
            if (const auto number = whole_real(word)) {
                add(fmt::format("n{}", place++ % places), *number);
            } else {
                for (const char c : word) letters += static_cast<unsigned char>(c);
            }
        }
        add("words", static_cast<double>(letters));
    }
    [[nodiscard]] std::string text() const {
        std::string text;
        for (const auto& [name, sum] : sums_) text += fmt::format(" {} {:.7g}", name, sum);
        return text;
    }

  private:
    std::vector<std::pair<std::string, double>> sums_;
    double growth_;
    double weight_ = 1.0;
};

}  // namespace ridge::test
