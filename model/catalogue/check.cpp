// Checks files of every kind (`catalogue.h`).
#include <algorithm>
#include <string>
#include <vector>

#include "hardware/consistency.h"
#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/field_reader.h"
#include "hardware/loader.h"
#include "model/catalogue/assembly.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/kernel_rules.h"
#include "model/catalogue/trees_file.h"

namespace ridge::model {
namespace {

using hardware::Description;
using hardware::Problem;

/// Fields of a file that are not parameters of its software.
void report_foreign(const Description& file, const Software& software,
                    std::vector<Problem>& problems) {
    for (const auto& [path, datum] : file.data) {
        const bool own =
            std::any_of(software.parameters.begin(), software.parameters.end(),
                        [&file = path](const auto& each) { return hardware::lies_in(file, each); });
        if (own) continue;
        problems.push_back(
            {datum.location, path + " is not among the parameters of " + software.name});
    }
}

std::vector<Problem> problems_of_software(const std::string& text, const std::string& path) {
    std::vector<Problem> problems;
    try {
        DataFiles files = DataFiles::embedded();
        files.add(text, path);
        const hardware::Loaded loaded = hardware::load_text(text, path, schema(), software_form());
        problems = loaded.problems;
        const std::string& name = loaded.description.name;
        for (const Software& each : files.software()) {
            if (each.name != name) continue;
            report_foreign(loaded.description, each, problems);
            static_cast<void>(rules_in(each, problems));
        }
        static_cast<void>(stack_of(files.software(), name));
    } catch (const InputError& error) {
        problems.push_back({error.location(), error.message()});
    }
    return problems;
}

/// Problems with what a calibration says that it is for.
void check_subject(const std::string& owner, const std::string& software, const Description& file,
                   std::vector<Problem>& problems) {
    const Catalogue all = Catalogue::embedded();
    if (all.chips().header(owner) == nullptr) {
        problems.push_back({file.location, "\"" + owner + "\" is not a known GPU or architecture"});
    }
    try {
        report_foreign(file, find_software(all.software(), software), problems);
    } catch (const InputError& error) {
        problems.push_back({file.location, error.message()});
    }
}

std::vector<Problem> problems_of_calibration(const std::string& text, const std::string& path) {
    hardware::Loaded loaded = hardware::load_text(text, path, schema(), calibration_form());
    if (!loaded.problems.empty()) return loaded.problems;
    const hardware::Row& words = loaded.description.words;
    const std::string chip = words.text("chip");
    const std::string owner = chip.empty() ? words.text("architecture") : chip;
    if (owner.empty() || words.text("software").empty()) {
        return {{loaded.description.location,
                 "a calibration names its software, and a chip or an architecture"}};
    }
    check_subject(owner, words.text("software"), loaded.description, loaded.problems);
    return loaded.problems;
}

std::vector<Problem> problems_of_trees(const std::string& text, const std::string& path) {
    hardware::Loaded loaded = read_trees(SharedText::copy_of(text), path);
    if (!loaded.problems.empty()) return loaded.problems;
    try {
        const TreesHeader head = read_trees_header(text, path);
        check_subject(head.chip, head.software, loaded.description, loaded.problems);
        if (head.digest != digest_of_trees(text)) {
            loaded.problems.push_back(
                {loaded.description.location,
                 "the content has the digest " + digest_of_trees(text) + ", not " + head.digest});
        }
    } catch (const InputError& error) {
        loaded.problems.push_back({error.location(), error.message()});
    }
    return loaded.problems;
}

std::vector<Problem> problems_of_rules(const std::string& text, const std::string& path) {
    hardware::Loaded loaded = hardware::load_text(text, path, schema(), carry_over_form());
    for (const hardware::Row& row : loaded.description.rows) {
        if (row.table == "carried_over") {
            static_cast<void>(carry_rule(row, {}, loaded.problems));
        }
    }
    return loaded.problems;
}

std::vector<Problem> problems_of_chip(const std::string& text, const std::string& path) {
    const hardware::Loaded loaded = hardware::load_text(text, path, schema(), chip_form());
    if (!loaded.problems.empty()) return loaded.problems;
    if (loaded.description.kind == hardware::DescriptionKind::architecture) {
        std::vector<Problem> problems = check_consistency(loaded.description);
        for (const hardware::Row& row : loaded.description.rows) {
            static_cast<void>(carry_rule(row, loaded.description.name, problems));
        }
        return problems;
    }
    Catalogue all = Catalogue::embedded();
    const std::string name = all.add_text(text, path);
    if (all.canonical_name(name).empty()) {
        return {
            {loaded.description.location, "overlays \"" + name + "\", which is not a known GPU"}};
    }
    return all.inspect(name, View::calibrated).second;
}

}  // namespace

std::vector<Problem> check_text(const std::string& text, const std::string& path) {
    if (is_trees_file(text)) return problems_of_trees(text, path);
    const std::string kind = hardware::kind_of(text, path);
    if (kind == software_form().kind) return problems_of_software(text, path);
    if (kind == calibration_form().kind) return problems_of_calibration(text, path);
    if (kind == carry_over_form().kind) return problems_of_rules(text, path);
    if (kind == laws_form().kind) {
        return hardware::load_text(text, path, schema(), laws_form()).problems;
    }
    return problems_of_chip(text, path);
}

std::vector<Problem> check_file(const std::string& path) {
    return check_text(hardware::read_text_file(path), path);
}

}  // namespace ridge::model
