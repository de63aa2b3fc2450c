// Machines of the catalogue, made once for all tests of a program.
//
//   using test::machine;
//   const Outcome outcome = predict(op, {}, machine("a100-sxm-80gb"));
#pragma once

#include <map>
#include <string>

#include "model/machine/catalogue.h"
#include "model/machine/machine.h"

namespace ridge::test {

inline const model::Machine& machine(const std::string& gpu) {
    static const hardware::Catalogue catalogue = model::catalogue();
    static std::map<std::string, model::Machine> machines;
    const auto found = machines.find(gpu);
    if (found != machines.end()) return found->second;
    return machines.emplace(gpu, model::make_machine(catalogue.at(gpu))).first->second;
}

inline const model::Machine& h200() {
    return machine("h200-sxm");
}

}  // namespace ridge::test
