#include "model/catalogue/catalogue.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include "hardware/document.h"
#include "hardware/error.h"
#include "model/catalogue/assembly.h"
#include "model/catalogue/kernel_rules.h"
#include "model/catalogue/trees_file.h"
#include "model/machine/machine_software.h"

namespace ridge::model {
namespace {

using hardware::Description;
using hardware::Problem;

namespace fs = std::filesystem;

/// $XDG_CONFIG_HOME/ridge.
std::string configuration_folder() {
    const char* config = std::getenv("XDG_CONFIG_HOME");  // NOLINT(concurrency-mt-unsafe)
    if (config != nullptr && *config != '\0') return std::string(config) + "/ridge";
    const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
    if (home == nullptr || *home == '\0') return {};
    return std::string(home) + "/.config/ridge";
}

void list_files(const std::string& folder, int depth, std::set<std::string>& found) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const fs::path& path = entry.path();
        if (depth > 0 && entry.is_directory(error)) {
            list_files(path.string(), depth - 1, found);
        } else if (path.extension() == ".toml" || path.extension() == ".trees") {
            found.insert(path.string());
        }
    }
    if (error) throw InputError("cannot list \"" + folder + "\": " + error.message());
}

/// The user's files, software first, because calibrations name it.
std::vector<std::string> user_files() {
    const std::string folder = configuration_folder();
    std::vector<std::string> files;
    if (folder.empty()) return files;
    for (const auto& [part, depth] :
         {std::pair{"/software", 1}, std::pair{"/gpus", 0}, std::pair{"/calibration", 1}}) {
        std::set<std::string> found;
        list_files(folder + part, depth, found);
        files.insert(files.end(), found.begin(), found.end());
    }
    return files;
}

}  // namespace

struct Catalogue::Contents {
    Contents(hardware::Catalogue all_chips, DataFiles all_files)
        : chips(std::move(all_chips)), files(std::move(all_files)) {}

    hardware::Catalogue chips;
    DataFiles files;
    std::mutex mutex;
    std::map<std::tuple<std::string, View, std::string>, Description> loaded;
};

namespace {

using Inspected = std::pair<Description, std::vector<Problem>>;

Inspected inspected(const Catalogue::Contents& contents, std::string_view name, View view,
                    std::string_view software) {
    hardware::Layers layers = contents.chips.layers(
        name, view == View::datasheet ? hardware::Overlays::left_out : hardware::Overlays::applied);
    return assemble(std::move(layers), {.chips = contents.chips,
                                        .files = contents.files,
                                        .stack = stack_of(contents.files.software(), software),
                                        .with_corrections = view == View::calibrated});
}

const Description& description(Catalogue::Contents& contents, std::string_view name, View view,
                               std::string_view software) {
    std::tuple key{contents.chips.canonical_name(name), view, std::string(software)};
    const std::lock_guard lock(contents.mutex);
    const auto found = contents.loaded.find(key);
    if (found != contents.loaded.end()) return found->second;
    auto [device, problems] = inspected(contents, name, view, software);
    hardware::throw_problems(problems);
    return contents.loaded.emplace(std::move(key), std::move(device)).first->second;
}

std::vector<std::pair<SoftwareChoice, SoftwareChoice>> fitted_versions(const Description& device) {
    std::vector<std::pair<SoftwareChoice, SoftwareChoice>> all;
    for (const hardware::Row& row : device.rows) {
        if (row.table != fitted_table) continue;
        all.emplace_back(SoftwareChoice::named(row.text("software")),
                         SoftwareChoice::named(row.text("version")));
    }
    return all;
}

Machine machine_of(const std::shared_ptr<Catalogue::Contents>& contents, const std::string& name,
                   View view, std::optional<SoftwareChoice> asked);

/// The machine of a description, with the rules of software that was asked for, or of the usual one.
/// Rules are read only when an operation asks for software or a mode.
Machine machine_from(const std::shared_ptr<Catalogue::Contents>& contents,
                     const Description& device, View view, std::optional<SoftwareChoice> asked) {
    const std::vector<Software>& all = contents->files.software();
    const bool is_named = asked && !asked->is_usual();
    std::vector<KernelRule> rules;
    if (is_named) rules = rules_of(all, find_software(all, asked->name()));
    if (asked && !is_named) rules = usual_rules(stack_of(all, {}));
    Machine machine = make_machine(device);
    for (const KernelRule& rule : rules) {
        if (rule.recipe) machine.engine.push_back(read_engine_kernel(rule.recipe, device));
    }
    machine.software = std::make_shared<const MachineSoftware>(
        is_named ? *asked : SoftwareChoice(), std::move(rules),
        is_named ? fitted_versions(device)
                 : std::vector<std::pair<SoftwareChoice, SoftwareChoice>>(),
        [contents, name = device.name, view](SoftwareChoice other) {
            return machine_of(contents, name, view, other);
        });
    return machine;
}

Machine machine_of(const std::shared_ptr<Catalogue::Contents>& contents, const std::string& name,
                   View view, std::optional<SoftwareChoice> asked) {
    std::string full;
    if (asked && !asked->is_usual()) {
        full = find_software(contents->files.software(), asked->name()).name;
        asked = SoftwareChoice::named(full);
    }
    return machine_from(contents, description(*contents, name, view, full), view, asked);
}

std::shared_ptr<Catalogue::Contents> read_embedded() {
    return std::make_shared<Catalogue::Contents>(
        hardware::Catalogue::embedded(schema(), chip_form()), DataFiles::embedded());
}

/// What is in the binary, and the descriptions made of it: the same for all catalogues of a process
/// that have no other files.
const std::shared_ptr<Catalogue::Contents>& embedded_contents() {
    static const std::shared_ptr<Catalogue::Contents> contents = read_embedded();
    return contents;
}

}  // namespace

Catalogue::Catalogue(std::shared_ptr<Contents> contents) : contents_(std::move(contents)) {}

Catalogue Catalogue::embedded() {
    return Catalogue(embedded_contents());
}

Catalogue Catalogue::with_user_files(std::string_view without) {
    Catalogue all = embedded();
    for (const std::string& file : user_files()) {
        if (file == without) continue;
        try {
            all.add_file(file);
        } catch (const InputError& broken) {
            all.left_out_.emplace_back(broken.what());
        }
    }
    return all;
}

const hardware::Catalogue& Catalogue::chips() const {
    return contents_->chips;
}

const DataFiles& Catalogue::files() const {
    return contents_->files;
}

std::string Catalogue::add_file(const std::string& path) {
    return add_text(hardware::read_text_file(path), path);
}

std::string Catalogue::add_text(const std::string& text, const std::string& origin) {
    if (contents_ == embedded_contents()) contents_ = read_embedded();
    contents_->loaded.clear();
    if (is_trees_file(text) || is_data_kind(hardware::kind_of(text, origin))) {
        return contents_->files.add(text, origin);
    }
    return contents_->chips.add_text(text, origin);
}

Inspected Catalogue::inspect(std::string_view name, View view, std::string_view software) const {
    return inspected(*contents_, name, view, software);
}

const Description& Catalogue::at(std::string_view name, View view,
                                 std::string_view software) const {
    return description(*contents_, name, view, software);
}

Machine Catalogue::machine(std::string_view name, View view, SoftwareChoice software) const {
    return machine_of(contents_, std::string(name), view,
                      software.is_usual() ? std::nullopt : std::optional(software));
}

Machine Catalogue::machine(const Description& device, SoftwareChoice software) const {
    std::optional<SoftwareChoice> asked;
    if (!software.is_usual()) {
        asked = SoftwareChoice::named(find_software(this->software(), software.name()).name);
    }
    return machine_from(contents_, device, View::calibrated, asked);
}

Catalogue catalogue() {
    return Catalogue::embedded();
}

std::string user_folder() {
    const std::string folder = configuration_folder();
    return folder.empty() ? folder : folder + "/gpus";
}

}  // namespace ridge::model
