#include "model/machine/schema.h"

#include <utility>
#include <vector>

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

const hardware::Schema& schema() {
    static const hardware::Schema whole = whole_schema();
    return whole;
}

}  // namespace ridge::model
