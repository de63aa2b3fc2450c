#include "measure/fit/fit_starts.h"

#include <algorithm>
#include <array>

#include "hardware/error.h"
#include "hardware/loader.h"
#include "model/machine/engine_law.h"
#include "model/machine/schema.h"

namespace ridge::measure {
namespace {

using model::LawInfo;
using model::LawParameter;

constexpr std::array<std::string_view, 1> starts_words{"chip"};
constexpr hardware::Form starts_form{
    .kind = "starts", .words = starts_words, .tables = {}, .roots = {}};

/// A field model.engine.LAW.SOFTWARE.KERNEL.NAME.
struct LawField {
    std::string law;
    std::string name;
};

std::optional<LawField> law_field(const std::string& field) {
    const std::string start = std::string(model::engine_section) + '.';
    if (!field.starts_with(start)) return std::nullopt;
    const std::size_t end = field.find('.', start.size());
    return LawField{.law = field.substr(start.size(), end - start.size()),
                    .name = field.substr(field.rfind('.') + 1)};
}

bool states_some(const hardware::Description& file, const std::string& section) {
    return std::any_of(file.data.begin(), file.data.end(),
                       [&](const auto& field) { return field.first.starts_with(section); });
}

/// The value of a parameter where no file states it.
std::optional<FitStart> usual_value(const LawField& field) {
    for (const LawInfo& law : model::law_table()) {
        if (law.name != field.law) continue;
        for (const LawParameter& each : law.parameters) {
            if (each.name == field.name) return FitStart{.value = each.usual};
        }
    }
    return std::nullopt;
}

}  // namespace

const hardware::Description* FitStarts::of_gpu(const FitPlace& place) const {
    if (place.gpus.size() != 1) return nullptr;
    const auto found = gpus_.find(place.gpus.front());
    return found == gpus_.end() ? nullptr : &found->second;
}

std::optional<FitStart> FitStarts::of(const std::string& field, const FitPlace& place,
                                      const std::vector<model::Software>& all) {
    const hardware::Description* const gpu = of_gpu(place);
    for (const hardware::Description* const file :
         {gpu, static_cast<const hardware::Description*>(&plan_)}) {
        if (file == nullptr) continue;
        if (const auto stated = file->value(field)) return FitStart{*stated, true};
    }
    for (const std::string& name : place.software) {
        const auto stated = file_of(find_software(all, name)).value(field);
        if (stated) return FitStart{*stated};
    }
    const auto of_law = law_field(field);
    if (!of_law) return std::nullopt;
    // A kernel with starts of its own has those parameters and no others.
    const std::string section = field.substr(0, field.rfind('.') + 1);
    if (gpu != nullptr && states_some(*gpu, section)) return usual_value(*of_law);
    if (states_some(plan_, section)) return usual_value(*of_law);
    for (const std::string& name : place.software) {
        if (states_some(file_of(find_software(all, name)), section)) return usual_value(*of_law);
    }
    const std::string any = std::string(model::engine_section) + '.' + of_law->law + ".any.any.";
    if (const auto stated = plan_.value(any + of_law->name)) return FitStart{*stated, true};
    return usual_value(*of_law);
}

std::pair<std::string, hardware::Description> read_starts(const std::string& toml,
                                                          const std::string& file) {
    hardware::Loaded loaded = hardware::load_text(toml, file, model::schema(), starts_form);
    std::string chip = loaded.description.words.text("chip");
    if (chip.empty()) {
        loaded.problems.push_back({loaded.description.location, "a file of starts names its chip"});
    }
    hardware::throw_problems(loaded.problems);
    return {std::move(chip), std::move(loaded.description)};
}

const hardware::Description& FitStarts::file_of(const model::Software& software) {
    const auto found = read_.find(software.name);
    if (found != read_.end()) return found->second;
    hardware::Loaded loaded = hardware::load_fields(software.text, software.file, model::schema(),
                                                    {}, model::software_form());
    hardware::throw_problems(loaded.problems);
    return read_.emplace(software.name, std::move(loaded.description)).first->second;
}

}  // namespace ridge::measure
