// What a chart or a comparison does not show, and times that cannot be right: said on `err`, so that
// nobody takes a part for the whole.
//
//   ridge: 3 of 12 records are not drawn:
//     2 are of another type than bf16: times.csv:4, times.csv:7
//     1 is not modelled (impl mine is not one of the model's): times.csv:9
//   ridge: times.csv:3: 0.55 us is faster than the GPU can be (104 us at least): milliseconds?
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "measure/judge/validate.h"
#include "measure/record/record.h"

namespace ridge::cli {

/// Records by the reason for which they are left out.
class LeftOut {
  public:
    void add(const measure::Record& record, const std::string& reason);

    [[nodiscard]] std::size_t count() const;
    /// Counts and names them; nothing where nothing was left out.
    void write(const Context& context, std::size_t total) const;

  private:
    std::map<std::string, std::vector<std::string>> names_;
};

/// "times.csv:4", the name that the table gives the row, or the question of a record.
[[nodiscard]] std::string short_name_of(const measure::Record& record);

/// Rows of tables whose time is below the lower bound.
void write_impossible_times(const Context& context, const measure::Validation& validation,
                            std::span<const measure::Record> records);

}  // namespace ridge::cli
