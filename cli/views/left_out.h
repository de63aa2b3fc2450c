// Reports on `err` what a chart or a comparison leaves out, and measured times that are probably
// wrong, so that nobody takes a part for the whole.
//
//   ridge: 3 of 12 records are not drawn:
//     2 are not of type bf16: times.csv:4, times.csv:7
//     1 is not modelled (impl mine is not one of the model's): times.csv:9
//   ridge: times.csv:3: 0.55 us is faster than the GPU can be (104 us at least): milliseconds?
//   ridge: times.csv:4: 550 ms is 1021 times what is predicted (538 us): microseconds?
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "hardware/error.h"
#include "measure/judge/validate.h"
#include "measure/record/record.h"

namespace ridge::cli {

/// Records that are left out, by reason.
class LeftOut {
  public:
    void add(const measure::Record& record, const std::string& reason);

    [[nodiscard]] std::size_t count() const;
    /// Counts and names them; writes nothing if nothing was left out.
    void write(const Context& context, std::size_t total) const;

  private:
    std::map<std::string, std::vector<std::string>> names_;
};

/// "times.csv:4", or the row's name in its table, or the question of a record.
[[nodiscard]] std::string short_name_of(const measure::Record& record);

/// "milliseconds" if the time makes sense only in that unit instead of `unit`, that of its column;
/// else empty.
[[nodiscard]] std::string unit_meant(Time measured, Time unit, const model::Prediction& p);

/// Reports measured times that a GPU cannot reach, or that seem to be in another unit.
class DoubtfulTimes {
  public:
    explicit DoubtfulTimes(const Context& context) : context_(context) {}
    /// Prints how many more there are than were named.
    ~DoubtfulTimes();
    DoubtfulTimes(const DoubtfulTimes&) = delete;
    DoubtfulTimes& operator=(const DoubtfulTimes&) = delete;

    /// `unit` is that of the column that the time was read from.
    void look_at(const Location& place, Time measured, Time unit, const model::Prediction& p);

  private:
    const Context& context_;
    std::size_t found_ = 0;
};

/// Reports the doubtful times among rows of tables.
void write_doubtful_times(const Context& context, const measure::Validation& validation,
                          std::span<const measure::Record> records);

}  // namespace ridge::cli
