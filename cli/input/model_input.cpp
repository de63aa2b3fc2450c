#include "cli/input/model_input.h"

#include <vector>

#include "hardware/error.h"
#include "hardware/nearest.h"
#include "model/core/fields.h"
#include "programs/configs/presets.h"

namespace ridge::cli {

void require_model(const std::string& name) {
    if (programs::is_model(name) || !model::find_operation_kind(name)) return;
    throw InputError("model: '" + name + "' is an operation", {}, "ridge predict " + name);
}

programs::Architecture model_named(const std::string& name) {
    require_model(name);
    return programs::find_model(name);
}

std::string command_for(const std::string& word) {
    if (model::find_operation_kind(word)) {
        return "'" + word + "' is an operation: ridge predict " + word;
    }
    if (programs::is_model(word)) return "'" + word + "' is a model: ridge plan " + word;
    return {};
}

std::string command_near(const std::string& word) {
    const std::vector<std::string> models = programs::presets_near(word, 1);
    if (!models.empty()) {
        return "'" + word + "' is no command; a model? ridge plan " + models.front();
    }
    std::vector<std::string> operations;
    for (const model::OperationInfo& info : model::operation_table()) {
        operations.emplace_back(info.name);
    }
    const std::vector<std::string> close = near(word, operations, 1);
    if (close.empty()) return {};
    return "'" + word + "' is no command; an operation? ridge predict " + close.front();
}

}  // namespace ridge::cli
