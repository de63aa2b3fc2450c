// Records as text, tables and JSON, beside their predictions.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cli/console/context.h"
#include "cli/console/table.h"
#include "cli/input/machines.h"
#include "hardware/json.h"
#include "measure/record/record.h"
#include "model/core/prediction.h"

namespace ridge::cli {

/// The prediction for a record, or why there is none.
struct RecordAnswer {
    std::optional<model::Prediction> prediction{};
    std::string reason{};

    /// predicted / measured time - 1; the record must be measured.
    [[nodiscard]] std::optional<double> error(const measure::Record& record) const;
};

/// Predicts on `gpu` or, if it is empty, on the GPU that the record's driver names.
[[nodiscard]] RecordAnswer answer_of(const measure::Record& record, Machines& machines,
                                     const std::string& gpu = {});

/// "183 us", or "failed".
[[nodiscard]] std::string time_text(const measure::Record& record);

/// Writes measurement, prediction and difference of one record as a block of text.
void write_record(const Context& context, const measure::Record& record,
                  const RecordAnswer& answer);

/// One row per record.
[[nodiscard]] Table record_table(std::span<const measure::Record> records, Machines& machines,
                                 const std::string& gpu);

/// The result of one record: measured, predicted, error; a failed record has its reason instead.
[[nodiscard]] Json to_json(const measure::Record& record, const RecordAnswer& answer);

}  // namespace ridge::cli
