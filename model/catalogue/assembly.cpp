#include "model/catalogue/assembly.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "hardware/consistency.h"
#include "hardware/field_reader.h"
#include "model/catalogue/trees_file.h"
#include "model/machine/engine_law.h"
#include "model/machine/schema.h"

namespace ridge::model {
namespace {

using hardware::Description;
using hardware::Loaded;
using hardware::Problem;

constexpr std::array<std::string_view, 1> chip_words{"corrections"};
constexpr std::array<std::string_view, 1> chip_tables{"carried_over"};
constexpr std::array<std::string_view, 4> chip_roots{"pytorch-2.11", "bundled", "copies", "laws"};
constexpr hardware::Form form_of_chips{
    .kind = {}, .words = chip_words, .tables = chip_tables, .roots = chip_roots};

using Paths = std::vector<std::string>;

class Assembly {
  public:
    Assembly(hardware::Layers layers, const Ingredients& from)
        : from_(from), layers_(std::move(layers)), problems_(std::move(layers_.problems)) {
        for (const StackPart& part : from.stack) {
            if (can_run(*part.software)) stack_.push_back(part);
        }
    }

    std::pair<Description, std::vector<Problem>> result() {
        carry_over_ = from_.files.carry_over();
        report_misplaced();
        device_ = std::move(layers_.device);
        const std::string relative = relative_for_corrections();
        add_chip();
        for (Description& each : layers_.architectures) add_architecture(std::move(each));
        add_software();
        apply_rules("*");
        for (const DataFile& file : from_.files.find("calibration/laws.toml")) {
            inherit(read(file, laws_form(), {}));
        }
        for (Description& each : layers_.overlays) {
            device_ = apply_overlay(std::move(device_), std::move(each));
        }
        if (from_.with_corrections) {
            add_corrections_of(relative);
        } else {
            std::erase_if(device_.data,
                          [](const auto& field) { return is_correction(field.first); });
        }
        add_fitted_versions();
        add_problems(missing_fields(device_));
        add_problems(check_consistency(device_));
        return {std::move(device_), std::move(problems_)};
    }

  private:
    [[nodiscard]] bool can_run(const Software& software) const {
        return std::all_of(software.needs.begin(), software.needs.end(), [this](const auto& path) {
            const auto has = [&path](const Description& layer) {
                return layer.find(path) != nullptr;
            };
            return has(layers_.device) ||
                   std::any_of(layers_.architectures.begin(), layers_.architectures.end(), has);
        });
    }

    /// What version 0.1 allowed in the files of devices alone, and of architectures alone.
    void report_misplaced() {
        const auto report = [this](const Description& file, const char* message) {
            problems_.push_back({file.location, message});
        };
        constexpr const char* corrections = "only a device can use the corrections of another";
        constexpr const char* carried = "only an architecture can carry parameters over";
        if (!layers_.device.rows.empty()) report(layers_.device, carried);
        for (const Description& each : layers_.architectures) {
            if (!each.words.texts.empty()) report(each, corrections);
        }
        for (const Description& each : layers_.overlays) {
            if (!each.words.texts.empty()) report(each, corrections);
            if (!each.rows.empty()) report(each, carried);
        }
    }

    void add_problems(const std::vector<Problem>& more) {
        problems_.insert(problems_.end(), more.begin(), more.end());
    }

    Description read(const DataFile& file, const hardware::Form& form, const Paths& only) {
        Loaded loaded = load_fields(file.text, file.path, schema(), only, form);
        add_problems(loaded.problems);
        return std::move(loaded.description);
    }

    void inherit(Description parent) {
        device_ = hardware::inherit(std::move(device_), std::move(parent));
    }

    /// The calibrations of a chip or architecture for one part of the stack, the chosen version's
    /// first. `only`: fields to read; empty: all that are the software's.
    std::vector<Description> calibrations(const std::string& owner, const StackPart& part,
                                          const Paths& only) {
        std::vector<Description> found;
        const auto take = [&](const Software& version, const Paths& fields) {
            const std::string path = "calibration/" + owner + "/" + version.name + ".toml";
            for (const DataFile& file : from_.files.find(path)) {
                found.push_back(read(file, calibration_form(), fields));
                if (has_data_outside_engines(found.back()))
                    fitted_[part.software->name].push_back(version.name);
            }
        };
        take(*part.software, only);
        for (const Software* const other : part.others) {
            const Paths& wanted = only.empty() ? part.software->parameters : only;
            const Paths fields = common_paths(wanted, other->parameters);
            if (!fields.empty()) take(*other, fields);
        }
        return found;
    }

    /// The same for residual corrections, by whole files.
    std::vector<Description> corrections(const std::string& owner, const StackPart& part) {
        std::vector<Description> found;
        const auto take = [&](const Software& version) {
            const std::string path = "calibration/" + owner + "/" + version.name + ".trees";
            for (const DataFile& file : from_.files.find(path)) {
                Loaded loaded = read_trees(file.text, file.path);
                add_problems(loaded.problems);
                loaded.description.origin = file.origin;
                found.push_back(std::move(loaded.description));
            }
        };
        take(*part.software);
        for (const Software* const other : part.others) {
            if (!common_paths(part.software->parameters, other->parameters).empty()) take(*other);
        }
        return found;
    }

    /// A file of version 0.1 with parameters of its own is complete without calibrations.
    void add_chip() {
        const bool has_parameters = std::any_of(
            device_.data.begin(), device_.data.end(),
            [](const auto& field) { return hardware::lies_in(field.first, model_section); });
        for (const StackPart& part : stack_) {
            if (!has_parameters) {
                for (Description& each : calibrations(device_.name, part, {})) {
                    device_ = complete(std::move(device_), std::move(each));
                }
            }
            if (!from_.with_corrections) continue;
            for (Description& each : corrections(device_.name, part)) {
                device_ = complete(std::move(device_), std::move(each));
            }
        }
    }

    void add_architecture(Description architecture) {
        const std::string name = architecture.name;
        std::vector<CarryRule> own_rules;
        for (const hardware::Row& row : architecture.rows) {
            own_rules.push_back(carry_rule(row, name, problems_));
        }
        inherit(std::move(architecture));
        for (const StackPart& part : stack_) {
            for (Description& each : calibrations(name, part, {})) inherit(std::move(each));
        }
        architectures_.push_back(name);
        for (const CarryRule& rule : own_rules) apply(rule);
        apply_rules(name);
    }

    /// Adds the costs of the software's code, then those of the version that it inherits from.
    void add_software() {
        constexpr int most_versions = 8;
        for (const StackPart& part : stack_) {
            const Software* software = part.software;
            const std::string& family = software->family;
            for (int depth = 0; software != nullptr && depth < most_versions; ++depth) {
                if (software->family != family) break;
                const Paths only = depth == 0 ? Paths() : part.software->parameters;
                inherit(read(
                    {.path = software->file, .origin = software->origin, .text = software->text},
                    software_form(), only));
                software = named(software->inherits);
            }
        }
    }

    /// Whether a calibration holds more than values of engines' kernels, which name their version.
    static bool has_data_outside_engines(const Description& calibration) {
        return std::any_of(calibration.data.begin(), calibration.data.end(), [](const auto& field) {
            return !hardware::lies_in(field.first, engine_section);
        });
    }

    /// Rows [fitted]: software whose parameters all come from fits to another version.
    void add_fitted_versions() {
        for (const auto& [software, versions] : fitted_) {
            if (std::find(versions.begin(), versions.end(), software) != versions.end()) continue;
            device_.rows.push_back(
                {.table = std::string(fitted_table),
                 .texts = {{"software", {software}}, {"version", {versions.front()}}},
                 .location = device_.location});
        }
    }

    [[nodiscard]] const Software* named(const std::string& name) const {
        for (const Software& each : from_.files.software()) {
            if (each.name == name) return &each;
        }
        return nullptr;
    }

    void apply_rules(const std::string& to) {
        for (const CarryRule& rule : carry_over_.rules) {
            if (rule.to == to) apply(rule);
        }
    }

    void apply(const CarryRule& rule) {
        if (rule.from == device_.name) return;
        const Description* const head = from_.chips.header(rule.from);
        if (head == nullptr) {
            problems_.push_back(
                {rule.location, "carries parameters over from \"" + rule.from +
                                    "\", which is not a known device or architecture"});
            return;
        }
        Loaded own = from_.chips.user_fields(rule.from, rule.paths);
        add_problems(own.problems);
        carry(std::move(own.description), rule, *head);
        for (const StackPart& part : stack_) {
            const Paths only = common_paths(rule.paths, part.software->parameters);
            if (only.empty()) continue;
            for (Description& each : calibrations(rule.from, part, only)) {
                carry(std::move(each), rule, *head);
            }
            if (!from_.with_corrections) continue;
            for (Description& each : corrections(rule.from, part)) {
                std::erase_if(each.data, [&only](const auto& field) {
                    return std::none_of(only.begin(), only.end(), [&field](const auto& path) {
                        return hardware::lies_in(field.first, path);
                    });
                });
                carry(std::move(each), rule, *head);
            }
        }
    }

    /// Adds fields of another chip's file. Their only source says that they were carried over: derived
    /// from a chip of one of the device's architectures, estimates if it is of another.
    void carry(Description from, const CarryRule& rule, const Description& head) {
        for (auto& [path, datum] : from.data) {
            datum.sources.assign(1, rule.from);
            datum.disputes.clear();
        }
        const bool related = std::find(architectures_.begin(), architectures_.end(),
                                       head.inherits) != architectures_.end();
        hardware::Source source{
            .key = rule.from,
            .provenance = related ? hardware::Provenance::derived : hardware::Provenance::estimate,
            .text = "carried over from " + (head.title.empty() ? rule.from : head.title)};
        from.sources.clear();
        from.sources.emplace(rule.from, std::move(source));
        from.tolerances.clear();
        inherit(std::move(from));
    }

    /// The chip whose corrections the device uses; "" if none. Reports a name that is not known.
    std::string relative_for_corrections() {
        std::string wanted = device_.words.text("corrections");
        if (wanted.empty()) {
            const auto found = carry_over_.corrections.find(device_.name);
            if (found == carry_over_.corrections.end()) return {};
            wanted = found->second;
        }
        std::string relative = from_.chips.canonical_name(wanted);
        if (!relative.empty() && relative != device_.name) {
            device_.words.texts.insert_or_assign("corrections", std::vector{relative});
            return relative;
        }
        problems_.push_back({device_.location, "uses the corrections of \"" + wanted +
                                                   "\", which is not another known device"});
        return {};
    }

    /// Adds the corrections of a related chip, unless the device has its own. Corrections that a user
    /// fitted to that chip are not taken: they need parameters that this device does not have.
    void add_corrections_of(const std::string& relative) {
        if (relative.empty()) return;
        for (const StackPart& part : stack_) {
            for (Description& each : corrections(relative, part)) {
                if (each.origin != hardware::built_in) continue;
                inherit(std::move(each));
            }
        }
        device_.origin += ", with the corrections of " + relative;
    }

    const Ingredients& from_;
    hardware::Layers layers_;
    std::vector<Problem> problems_;
    std::vector<StackPart> stack_;
    CarryOver carry_over_;
    std::vector<std::string> architectures_;                  ///< those already added
    std::map<std::string, std::vector<std::string>> fitted_;  ///< versions with calibrations used
    Description device_;
};

}  // namespace

std::pair<Description, std::vector<Problem>> assemble(hardware::Layers layers,
                                                      const Ingredients& from) {
    return Assembly(std::move(layers), from).result();
}

const hardware::Form& chip_form() {
    return form_of_chips;
}

}  // namespace ridge::model
