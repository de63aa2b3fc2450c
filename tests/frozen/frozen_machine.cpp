#include "tests/frozen/frozen_machine.h"

#include <array>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "hardware/number_text.h"
#include "model/machine/parameters.h"
#include "model/software.h"
#include "tests/model/machines.h"
#include "tests/support/whole_file.h"

namespace ridge::test {

using model::Machine;
using model::ModelParameter;

namespace {

/// "matmul.tensor launch" for model.matmul.tensor.launch, as the file has it.
std::string short_path(const ModelParameter& parameter) {
    std::string path = parameter.field.path.substr(std::string_view("model.").size());
    path[path.rfind('.')] = ' ';
    return path;
}

/// Values by path for each machine, by "GPU SOFTWARE".
using Values = std::map<std::string, double, std::less<>>;

std::string heading(const FrozenName& name) {
    return "machine " + name.gpu + " " + (name.software.empty() ? "-" : name.software);
}

/// What a machine's heading does not say is as the first machine has it.
std::map<std::string, Values> read_values() {
    std::map<std::string, Values> values;
    std::istringstream lines(unpacked_text(RIDGE_FROZEN "/parameters.txt"));
    std::string machine;
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("machine ", 0) == 0) {
            values[line] = values[machine.empty() ? line : heading(frozen_names().front())];
            machine = line;
        } else if (const std::size_t blank = line.rfind(' '); blank != std::string::npos) {
            values[machine][line.substr(0, blank)] = whole_real(line.substr(blank + 1)).value();
        }
    }
    return values;
}

std::vector<const ModelParameter*> parameters_of(const Machine& machine) {
    std::vector<const ModelParameter*> all;
    for (const ModelParameter& each : model::model_parameters()) all.push_back(&each);
    std::string last;
    for (const model::EngineKernel& kernel : machine.engine) {
        if (kernel.recipe->section == last) continue;
        last = kernel.recipe->section;
        for (const ModelParameter* each : model::engine_parameters(last)) all.push_back(each);
    }
    return all;
}

Machine machine_of_today(const FrozenName& name) {
    const Machine machine = catalogue().machine(name.gpu, model::View::analytic);
    if (name.software.empty()) return machine;
    return model::machine_with(machine, model::SoftwareChoice::named(name.software));
}

}  // namespace

std::span<const FrozenName> frozen_names() {
    static const std::array<FrozenName, 7> names{{{"h200-sxm", ""},
                                                  {"a100-sxm-80gb", ""},
                                                  {"l40s", ""},
                                                  {"v100-sxm", ""},
                                                  {"h200-sxm", "vllm-0.24.0"},
                                                  {"b200", "trtllm-1.3.0rc20"},
                                                  {"l40s", "vllm-0.24.0"}}};
    return names;
}

std::vector<double> frozen_values(const std::string& gpu) {
    std::vector<double> values;
    const std::map<std::string, Values> all = read_values();
    for (const auto& each : all.at(heading({gpu, ""}))) values.push_back(each.second);
    return values;
}

const Machine& frozen_machine(const std::string& gpu, const std::string& software) {
    static std::map<std::string, Machine> machines;
    const FrozenName name{gpu, software};
    const std::string key = heading(name);
    if (const auto found = machines.find(key); found != machines.end()) return found->second;
    static const std::map<std::string, Values> frozen = read_values();
    Machine machine = machine_of_today(name);
    const Values& values = frozen.at(key);
    for (const ModelParameter* each : parameters_of(machine)) {
        const auto value = values.find(short_path(*each));
        if (value != values.end() && each->read(machine)) each->write(machine, value->second);
    }
    return machines.emplace(key, std::move(machine)).first->second;
}

std::string frozen_text() {
    std::string text;
    std::map<std::string, std::string> first;
    for (const FrozenName& name : frozen_names()) {
        const Machine machine = machine_of_today(name);
        text += heading(name) + "\n";
        for (const ModelParameter* each : parameters_of(machine)) {
            const std::optional<double> value = each->read(machine);
            if (!value) continue;
            const std::string line = fmt::format("{} {:.3g}", short_path(*each), *value);
            if (&name == frozen_names().data()) first[each->field.path] = line;
            if (&name == frozen_names().data() || first[each->field.path] != line)
                text += line + "\n";
        }
    }
    return text;
}

}  // namespace ridge::test
