#include "cli/options/gpu_options.h"
#include "cli/options/command_line.h"

#include "hardware/error.h"

namespace ridge::cli {

Machines::Machines(hardware::Catalogue catalogue, hardware::View view)
    : catalogue_(std::move(catalogue)), view_(view) {}

const model::Machine& Machines::at(std::string_view name) {
    const auto found = resolved_.find(name);
    if (found != resolved_.end()) return *found->second;
    auto machine =
        std::make_unique<const model::Machine>(model::make_machine(catalogue_.at(name, view_)));
    return *resolved_.emplace(std::string(name), std::move(machine)).first->second;
}

GpuOptions::GpuOptions(CommandLine& line) {
    line.option("--gpu", gpu_, "GPU by name or alias (see `ridge gpus`)")
        .value("NAME")
        .group("GPU");
    line.option("--gpu-file", files_, "GPU description or overlay in TOML; may be repeated")
        .value("FILE")
        .group("GPU");
    line.flag("--datasheet", datasheet_, "paper figures: leave out measured overlays").group("GPU");
}

std::string GpuOptions::name() const {
    const std::vector<std::string> all = names();
    if (all.size() != 1) {
        throw InputError("gpu: one name is wanted, got " + std::to_string(all.size()));
    }
    return all.front();
}

std::vector<std::string> GpuOptions::names() const {
    std::vector<std::string> names;
    std::string_view rest = gpu_;
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        if (comma != 0) names.emplace_back(rest.substr(0, comma));
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    if (names.empty() && !files_.empty()) {
        hardware::Catalogue catalogue = hardware::Catalogue::embedded();
        names.push_back(catalogue.add_file(files_.back()));
    }
    if (names.empty()) {
        throw InputError("gpu is missing", {}, "give --gpu NAME; `ridge gpus` lists the names");
    }
    return names;
}

Machines GpuOptions::machines() const {
    hardware::Catalogue catalogue = hardware::Catalogue::with_user_files();
    for (const std::string& file : files_) catalogue.add_file(file);
    return {std::move(catalogue),
            datasheet_ ? hardware::View::datasheet : hardware::View::calibrated};
}

}  // namespace ridge::cli
