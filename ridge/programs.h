// Whole programs: steps of models, serving, and recorded traces.
//
//   #include <ridge/programs.h>                                            // link with ridge::programs
//
//   const auto trace = ridge::programs::read_trace("trace.json.gz");
//   const auto report = ridge::programs::report_of(trace, machine);
#pragma once

#include "programs/configs/architecture.h"
#include "programs/host.h"
#include "programs/model_step.h"
#include "programs/report/trace_report.h"
#include "programs/serving.h"
#include "programs/traces/trace.h"
#include "programs/traffic/summary.h"
#include "ridge/predict.h"
