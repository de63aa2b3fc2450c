#include "model/catalogue/data_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hardware/catalogue.h"
#include "hardware/error.h"
#include "model/catalogue/embedded.h"
#include "model/catalogue/trees_file.h"
#include "model/machine/schema.h"

namespace ridge::model {
namespace {

constexpr std::string_view carry_over_path = "calibration/carry-over.toml";

constexpr std::array<std::string_view, 5> calibration_words{"chip", "architecture", "software",
                                                            "command", "version"};
constexpr hardware::Form calibrations{
    .kind = "calibration", .words = calibration_words, .tables = {}, .roots = {}};

constexpr std::array<std::string_view, 2> carry_tables{"corrections", "carried_over"};
constexpr hardware::Form carry_overs{
    .kind = "carry-over", .words = {}, .tables = carry_tables, .roots = {}};

constexpr hardware::Form laws{.kind = "laws", .words = {}, .tables = {}, .roots = {}};

std::string calibration_path(std::string_view owner, std::string_view software,
                             std::string_view extension) {
    return std::string("calibration/").append(owner).append("/").append(software).append(extension);
}

/// The path in the source tree at which a calibration of this header would stand.
std::string path_of(const hardware::Description& head) {
    const std::string chip = head.words.text("chip");
    const std::string architecture = head.words.text("architecture");
    const std::string software = head.words.text("software");
    if (chip.empty() == architecture.empty() || software.empty()) {
        throw InputError("a calibration names its software, and a chip or an architecture",
                         head.location);
    }
    return calibration_path(chip.empty() ? architecture : chip, software, ".toml");
}

hardware::Description header(const std::string& text, const std::string& file,
                             const hardware::Form& form) {
    hardware::Loaded loaded = hardware::load_header(text, file, form);
    hardware::throw_problems(loaded.problems);
    return std::move(loaded.description);
}

void add_rules(CarryOver& all, const DataFile& file, std::vector<hardware::Problem>& problems) {
    const hardware::Loaded loaded =
        hardware::load_text(file.text, file.path, schema(), carry_overs);
    problems.insert(problems.end(), loaded.problems.begin(), loaded.problems.end());
    for (const hardware::Row& row : loaded.description.rows) {
        if (row.table == "carried_over") {
            all.rules.push_back(carry_rule(row, {}, problems));
            continue;
        }
        for (const auto& [chip, names] : row.texts) {
            if (!names.empty()) all.corrections.emplace(chip, names.front());
        }
    }
}

}  // namespace

const hardware::Form& calibration_form() {
    return calibrations;
}

const hardware::Form& carry_over_form() {
    return carry_overs;
}

const hardware::Form& laws_form() {
    return laws;
}

CarryRule carry_rule(const hardware::Row& row, const std::string& to,
                     std::vector<hardware::Problem>& problems) {
    CarryRule rule{.to = to, .from = row.text("from"), .paths = {}, .location = row.location};
    if (const std::string named = row.text("to"); !named.empty()) rule.to = named;
    const auto paths = row.texts.find("parameters");
    if (paths != row.texts.end()) rule.paths = paths->second;
    if (rule.to.empty() || rule.from.empty() || rule.paths.empty()) {
        problems.push_back({row.location, to.empty() ? "carried_over needs to, from and parameters"
                                                     : "carried_over needs from and parameters"});
    }
    for (const std::string& path : rule.paths) {
        if (schema().find(path) != nullptr || schema().is_section(path)) continue;
        const std::string nearest = schema().nearest(path);
        problems.push_back(
            {row.location, "unknown key \"" + path + "\"" +
                               (nearest.empty() ? "" : ", did you mean \"" + nearest + "\"?")});
    }
    for (const auto& [key, texts] : row.texts) {
        if (key != "to" && key != "from" && key != "parameters") {
            problems.push_back({row.location, "unknown key \"" + key + "\" in carried_over"});
        }
    }
    return rule;
}

bool is_data_kind(std::string_view kind) {
    constexpr std::array<std::string_view, 4> kinds{"software", calibrations.kind, carry_overs.kind,
                                                    laws.kind};
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

DataFiles DataFiles::embedded() {
    DataFiles files;
    for (const hardware::EmbeddedFile& file : software_files()) {
        files.add_software(read_software(SharedText::in_program(file.text), std::string(file.path),
                                         std::string(hardware::built_in)));
    }
    return files;
}

/// What a version does not say itself, it has from the software that it inherits from; parameters only from a version
/// of its own family, because each is of one software.
void DataFiles::add_software(Software software) {
    std::erase_if(software_, [&](const Software& each) { return each.name == software.name; });
    for (const Software& older : software_) {
        if (older.name != software.inherits) continue;
        if (software.parameters.empty() && older.family == software.family) {
            software.parameters = older.parameters;
        }
        if (software.needs.empty()) software.needs = older.needs;
        if (software.uses.empty()) software.uses = older.uses;
        if (software.program.empty()) software.program = older.program;
    }
    software_.push_back(std::move(software));
}

void DataFiles::add_users(const std::string& place, DataFile file) {
    // A file that was read before and has changed since counts once, as it is now.
    std::erase_if(users_, [&](const auto& each) {
        return each.first == place && each.second.origin == file.origin;
    });
    users_.emplace(place, std::move(file));
}

std::string DataFiles::add(const std::string& text, const std::string& origin) {
    DataFile file{.path = origin, .origin = origin, .text = SharedText::copy_of(text)};
    if (is_trees_file(text)) {
        const TreesHeader head = read_trees_header(text, origin);
        add_users(calibration_path(head.chip, head.software, ".trees"), std::move(file));
        return head.chip;
    }
    const std::string kind = hardware::kind_of(text, origin);
    if (kind == "software") {
        add_software(read_software(file.text, origin, origin));
        return {};
    }
    if (kind == calibrations.kind) {
        const hardware::Description head = header(text, origin, calibrations);
        add_users(path_of(head), std::move(file));
        const std::string chip = head.words.text("chip");
        return chip.empty() ? head.words.text("architecture") : chip;
    }
    const bool is_laws = kind == laws.kind;
    static_cast<void>(header(text, origin, is_laws ? laws : carry_overs));
    add_users(is_laws ? "calibration/laws.toml" : std::string(carry_over_path), std::move(file));
    return {};
}

std::vector<DataFile> DataFiles::find(const std::string& path) const {
    std::vector<DataFile> found;
    const auto [first, last] = users_.equal_range(path);
    for (auto each = first; each != last; ++each) found.push_back(each->second);
    const auto files = calibration_files();
    const auto built_in =
        std::lower_bound(files.begin(), files.end(), path,
                         [](const hardware::EmbeddedFile& file, const std::string& name) {
                             return file.path < name;
                         });
    if (built_in != files.end() && built_in->path == path) {
        found.push_back({.path = path,
                         .origin = std::string(hardware::built_in),
                         .text = SharedText::in_program(built_in->text)});
    }
    return found;
}

std::optional<DataFile> DataFiles::at(std::string_view path) const {
    for (const auto& [place, file] : users_) {
        if (file.path == path) return file;
    }
    for (const Software& each : software_) {
        if (each.file == path) {
            return DataFile{.path = each.file, .origin = each.origin, .text = each.text};
        }
    }
    std::vector<DataFile> found = find(std::string(path));
    if (found.empty()) return std::nullopt;
    return std::move(found.back());
}

CarryOver DataFiles::carry_over() const {
    CarryOver all;
    std::vector<hardware::Problem> problems;
    for (const DataFile& file : find(std::string(carry_over_path))) add_rules(all, file, problems);
    hardware::throw_problems(problems);
    return all;
}

}  // namespace ridge::model
