#include "measure/run/calibration_file.h"

#include <filesystem>
#include <fstream>

#include "hardware/error.h"
#include "hardware/input_file.h"
#include "hardware/json.h"

namespace ridge::measure {
namespace {

std::string text_of(const Json& json, std::string_view name) {
    const Json* const member = json.find(name);
    const std::string* const text = member == nullptr ? nullptr : member->if_text();
    return text == nullptr ? std::string() : *text;
}

CalibratedField field_of(const Json& json) {
    const Json* const quoted = json.find("quoted");
    const bool* const flag = quoted == nullptr ? nullptr : quoted->if_flag();
    return {.path = text_of(json, "path"),
            .value = text_of(json, "value"),
            .quoted = flag == nullptr || *flag,
            .note = text_of(json, "note")};
}

}  // namespace

std::vector<CalibrationStep> read_calibration(const std::string& path, const std::string& device) {
    std::vector<CalibrationStep> steps;
    if (!std::filesystem::exists(path)) return steps;
    const std::string text = read_input(path);
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const auto json = Json::parse(std::string_view(text).substr(begin, end - begin));
        begin = end + 1;
        if (!json || text_of(*json, "device") != device) continue;
        CalibrationStep step{.name = text_of(*json, "step")};
        if (const Json* const fields = json->find("fields")) {
            for (const Json& each : fields->items()) step.fields.push_back(field_of(each));
        }
        if (const Json* const skipped = json->find("skipped")) {
            for (const Json& each : skipped->items()) {
                step.skipped.push_back(
                    {.path = text_of(each, "path"), .reason = text_of(each, "reason")});
            }
        }
        steps.push_back(std::move(step));
    }
    return steps;
}

void append_calibration(const std::string& path, const std::string& device,
                        const CalibrationStep& step) {
    Json fields = Json::array();
    for (const CalibratedField& each : step.fields) {
        fields.push_back({{"path", each.path},
                          {"value", each.value},
                          {"quoted", each.quoted},
                          {"note", each.note}});
    }
    Json skipped = Json::array();
    for (const Skipped& each : step.skipped) {
        skipped.push_back({{"path", each.path}, {"reason", each.reason}});
    }
    const Json line{{"device", device},
                    {"step", step.name},
                    {"fields", std::move(fields)},
                    {"skipped", std::move(skipped)}};
    // Starts a new line if the last one was cut short.
    std::string text = line.text() + "\n";
    if (std::filesystem::exists(path)) {
        const std::string before = read_input(path);
        if (!before.empty() && before.back() != '\n') text.insert(0, "\n");
    }
    std::ofstream stream(path, std::ios::binary | std::ios::app);
    stream << text << std::flush;
    if (!stream) throw InputError("cannot be written", {.file = path});
}

}  // namespace ridge::measure
