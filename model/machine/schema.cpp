#include "model/machine/schema.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hardware/field_reader.h"
#include "model/machine/engine_law.h"
#include "model/machine/parameters.h"
#include "model/machine/residual_parameters.h"

namespace ridge::model {
namespace {

hardware::Schema whole_schema() {
    std::vector<hardware::Field> fields = parameter_fields();
    for (hardware::Field& each : engine_fields()) fields.push_back(std::move(each));
    for (hardware::Field& each : residual_schema()) fields.push_back(std::move(each));
    return hardware::device_schema().with(std::move(fields));
}

}  // namespace

bool is_correction(std::string_view path) {
    if (hardware::lies_in(path, correction_section)) return true;
    const auto of_kernel = [path](const CorrectionField& each) {
        return path.ends_with(std::string(".") + std::string(each.name));
    };
    return hardware::lies_in(path, engine_section) &&
           std::any_of(correction_fields.begin(), correction_fields.end(), of_kernel);
}

const hardware::Schema& schema() {
    static const hardware::Schema whole = whole_schema();
    return whole;
}

}  // namespace ridge::model
