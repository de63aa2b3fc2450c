// GPUs as data: quantities with units, descriptions in which every number has a source.
//
//   const ridge::model::Catalogue gpus = ridge::model::catalogue();     // see <ridge/predict.h>
//   const auto bandwidth = 4.8 * ridge::units::TB / ridge::units::s;
//
// The names are documented where they are declared. Invalid input throws ridge::InputError.
#pragma once

#include "hardware/catalogue.h"
#include "hardware/description.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/quantity.h"
