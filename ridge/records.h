// Measurements as records, and how far predictions are from them.
//
//   #include <ridge/records.h>                                             // link with ridge::measure
//
//   const auto file = ridge::measure::read_all_records({"records/h200-sxm-judge"});
//   const auto found = ridge::measure::validate(file.records, gpus, ridge::model::View::calibrated);
#pragma once

#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "ridge/predict.h"
