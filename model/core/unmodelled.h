// What a sum of times leaves out: the operations that are not modelled, and why.
//
//   Unmodelled left_out;
//   left_out.add("V100 has no tensor-core rate for bf16");
//   left_out.text();   // "1 operation not modelled (V100 has no tensor-core rate for bf16)"
//
// Method: operations are counted by their reasons. A sum with such a part is not a number: views
// print "at least 1.7 ms" and what is missing, documents null, and nothing divides by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/quantity.h"

namespace ridge::model {

class Unmodelled {
  public:
    void add(std::string_view reason, std::int64_t operations = 1);

    [[nodiscard]] bool empty() const { return reasons_.empty(); }
    [[nodiscard]] std::int64_t operations() const;
    /// Each reason with its number of operations, the most frequent first.
    [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> reasons() const;
    /// "9 operations not modelled (REASON; REASON)", at most two reasons; empty if there are none.
    [[nodiscard]] std::string text() const;

  private:
    std::vector<std::pair<std::string, std::int64_t>> reasons_;
};

/// "1.7 ms", "at least 1.7 ms" if parts are missing, "not modelled" if nothing else is left.
[[nodiscard]] std::string text_of_sum(Time sum, const Unmodelled& left_out);

}  // namespace ridge::model
