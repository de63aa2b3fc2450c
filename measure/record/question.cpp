#include "measure/record/question.h"

#include <fmt/format.h>

namespace ridge::measure {

std::string canonical_text(const model::Operation& operation) {
    return text_of(kind_of(operation), parameters_of(operation));
}

std::string canonical_text(const Question& question) {
    std::string text = canonical_text(question.operation);
    text += fmt::format(" impl={} l2={} launch={}", name_of(question.execution.implementation),
                        name_of(question.execution.l2), name_of(question.execution.launch));
    if (question.execution.tile) text += " tile=" + to_string(*question.execution.tile);
    if (question.pattern != DataPattern::normal) {
        text += " data=" + std::string(name_of(question.pattern));
    }
    return text;
}

std::string key_of(const Question& question, const std::string& device_name) {
    return canonical_text(question) + " on " + device_name;
}

}  // namespace ridge::measure
