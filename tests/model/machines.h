// The catalogue and its machines, made once for all tests of a program.
//
//   using test::machine;
//   const Outcome outcome = predict(op, {}, machine("a100-sxm-80gb"));
#pragma once

#include <map>
#include <string>
#include <utility>

#include "model/catalogue/catalogue.h"
#include "model/machine/machine.h"

namespace ridge::test {

inline const model::Catalogue& catalogue() {
    static const model::Catalogue embedded = model::catalogue();
    return embedded;
}

inline const model::Machine& machine_in(const std::string& gpu, model::View view) {
    static std::map<std::pair<std::string, model::View>, model::Machine> machines;
    const std::pair key(gpu, view);
    const auto found = machines.find(key);
    if (found != machines.end()) return found->second;
    return machines.emplace(key, model::make_machine(catalogue().at(gpu, view))).first->second;
}

inline const model::Machine& machine(const std::string& gpu) {
    return machine_in(gpu, model::View::calibrated);
}

/// The machine without its residual corrections.
inline const model::Machine& analytic_machine(const std::string& gpu) {
    return machine_in(gpu, model::View::analytic);
}

inline const model::Machine& h200() {
    return machine("h200-sxm");
}

}  // namespace ridge::test
