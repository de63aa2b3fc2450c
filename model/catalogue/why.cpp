#include "model/catalogue/why.h"

#include <algorithm>
#include <optional>

#include "hardware/error.h"
#include "hardware/loader.h"
#include "model/catalogue/trees_file.h"

namespace ridge::model {
namespace {

using hardware::Datum;
using hardware::Description;

/// The file of software or calibrations that holds a value; empty for files of chips.
std::optional<Description> file_of(const DataFiles& files, const Datum& datum) {
    const auto file = files.at(datum.location.file);
    if (!file) return std::nullopt;
    if (is_trees_file(file->text.view())) return read_trees(file->text, file->path).description;
    for (const hardware::Form* const form : {&calibration_form(), &software_form(), &laws_form()}) {
        if (hardware::kind_of(file->text.view(), file->path) != form->kind) continue;
        return hardware::load_text(file->text, file->path, schema(), *form).description;
    }
    return std::nullopt;
}

std::vector<hardware::Source> sources_of(const Description& file, const Datum& datum) {
    std::vector<hardware::Source> sources;
    for (const std::string& key : datum.sources) {
        const auto found = file.sources.find(key);
        if (found != file.sources.end()) sources.push_back(found->second);
    }
    return sources;
}

/// "the fields model.a.x, model.b.x and 3 more have it in their names"; "" if none of the device does.
std::string fields_with(const Description& device, std::string_view part) {
    std::vector<std::string> found;
    for (const auto& [path, datum] : device.data) {
        if (path.find(part) != std::string::npos) found.push_back(path);
    }
    if (part.empty() || found.empty()) return {};
    std::sort(found.begin(), found.end());
    constexpr std::size_t most = 8;
    std::string text = found.front();
    for (std::size_t i = 1; i < std::min(most, found.size()); ++i) text += ", " + found[i];
    if (found.size() > most) text += " and " + std::to_string(found.size() - most) + " more";
    return "fields with it in their names: " + text;
}

const Datum& datum_of(const Catalogue& gpus, const Description& device, std::string_view path) {
    const Datum* const datum = device.find(path);
    if (datum != nullptr) return *datum;
    const hardware::Schema& fields = gpus.chips().schema();
    if (fields.find(path) != nullptr) {
        throw InputError(device.name + " has no " + std::string(path), {},
                         "`ridge gpus show " + device.name + " --all` lists what it has");
    }
    const std::string with = fields_with(device, path);
    if (!with.empty()) {
        throw InputError("\"" + std::string(path) + "\" is not the whole name of a field", {},
                         with);
    }
    const std::string nearest = fields.nearest(path);
    throw InputError("unknown field \"" + std::string(path.substr(0, 80)) + "\"", {},
                     nearest.empty() ? "`ridge gpus show NAME --all` lists the fields"
                                     : "did you mean " + nearest + "?");
}

}  // namespace

Derivation why(const Catalogue& gpus, std::string_view gpu, std::string_view path, View view,
               std::string_view software) {
    const Description& device = gpus.at(gpu, view, software);
    const Datum& datum = datum_of(gpus, device, path);
    Derivation derivation{.gpu = device.name,
                          .path = std::string(path),
                          .meaning = meaning_of(*gpus.chips().schema().find(path)),
                          .value = written(datum),
                          .note = datum.note.str(),
                          .place = to_string(datum.location),
                          .carried = {},
                          .sources = sources_of(device, datum)};
    const std::optional<Description> file = file_of(gpus.files(), datum);
    const Datum* const original = file ? file->find(path) : nullptr;
    if (original == nullptr) return derivation;
    const bool is_carried = !derivation.sources.empty() &&
                            derivation.sources.front().text.starts_with("carried over from ") &&
                            original->sources != datum.sources;
    if (is_carried) {
        derivation.carried = derivation.sources.front().text + " (" +
                             std::string(to_string(device.provenance(path))) + ")";
    }
    derivation.sources = sources_of(*file, *original);
    return derivation;
}

}  // namespace ridge::model
