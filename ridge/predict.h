// What an operation costs on a GPU, and why.
//
//   #include <ridge/predict.h>                                             // link with ridge::model
//
//   const auto gpus = ridge::model::catalogue();
//   const auto machine = ridge::model::make_machine(gpus.at("h100-sxm"));
//   const ridge::model::Matmul product{.m = 4096, .n = 4096, .k = 4096};
//   const auto outcome = ridge::model::predict(product, {}, machine);
//   if (const auto* p = std::get_if<ridge::model::Prediction>(&outcome)) {
//       std::printf("%g us\n", p->time.in(ridge::units::us));
//   }
//
// An operation is a struct, or comes from text or fields (`parse_operation`, `make_operation`).
// What the model does not know is a value with the reason (`NotModelled`).
#pragma once

#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/explain.h"
#include "model/machine/machine.h"
#include "model/predict.h"
#include "ridge/hardware.h"
