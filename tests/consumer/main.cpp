#include <cstdio>

#include "model/machine/catalogue.h"
#include "model/predict.h"

int main() {
    using namespace ridge;
    const hardware::Catalogue catalogue = model::catalogue();
    const model::Machine machine = model::make_machine(catalogue.at("h100-sxm"));
    const model::Matmul op{.m = 4096, .n = 4096, .k = 4096};
    const model::Outcome outcome = model::predict(op, {}, machine);
    const auto* prediction = std::get_if<model::Prediction>(&outcome);
    if (prediction == nullptr) return 1;
    std::printf("%.1f us\n", prediction->time.in(units::us));
    return prediction->time >= prediction->lower_bound ? 0 : 1;
}
