#include "cli/options/gpu_options.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "hardware/error.h"
#include "hardware/variant.h"
#include "model/catalogue/catalogue.h"

namespace ridge::cli {

GpuOptions::GpuOptions(CommandLine& line) {
    line.option(
            "--gpu", gpu_,
            "GPU by name or alias (see `ridge gpus`; default: $RIDGE_GPU); h100:1g.10gb is a MIG "
            "slice, h100@500W a power limit")
        .value("NAME")
        .joined()
        .group("GPU");
    line.option("--gpu-file", files_,
                "description, overlay, software or calibration (TOML); may be repeated")
        .value("FILE")
        .group("GPU");
    line.option("--cluster", cluster_,
                "nodes and network in TOML, for collectives among more GPUs than NVLink connects")
        .value("FILE")
        .group("GPU");
    line.flag("--datasheet", datasheet_, "datasheet values only: ignore measured overlays")
        .group("GPU");
    line.flag("--analytic", analytic_,
              "analytic model only: no correction from the residuals of measured shapes")
        .group("GPU");
}

model::View GpuOptions::view() const {
    if (datasheet_) return model::View::datasheet;
    return analytic_ ? model::View::analytic : model::View::calibrated;
}

std::string GpuOptions::name() const {
    const std::vector<std::string> all = names();
    if (all.size() != 1) {
        throw InputError("gpu: expected one name, got " + std::to_string(all.size()), {},
                         "`ridge compare` and `ridge sweep` take several");
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
    if (names.empty() && !described().empty()) names.push_back(described());
    if (names.empty()) {
        if (const auto usual = default_gpu()) names.push_back(usual->name);
    }
    if (names.empty()) {
        throw InputError("gpu is missing", {}, "give --gpu NAME; `ridge gpus` lists the names");
    }
    return names;
}

/// The GPU of the last file that is about one; empty if all are about software.
const std::string& GpuOptions::described() const {
    if (described_) return *described_;
    std::string name;
    for (auto file = files_.rbegin(); name.empty() && file != files_.rend(); ++file) {
        model::Catalogue catalogue = model::catalogue();
        name = catalogue.add_file(*file);
    }
    return described_.emplace(std::move(name));
}

bool GpuOptions::given() const {
    return !gpu_.empty() || !described().empty();
}

WantedGpu GpuOptions::wanted() const {
    return {.only = given() ? name() : std::string(), .usual = known() ? name() : std::string()};
}

std::string GpuOptions::origin() const {
    if (given()) return {};
    const auto usual = default_gpu();
    return usual ? "from " + usual->origin : std::string();
}

Machines GpuOptions::machines(const Context& context) const {
    if (!cluster_.empty()) {
        Machines machines{catalogue(context), view(), model::read_cluster(cluster_)};
        machines.report_to(context.used_files);
        return machines;
    }
    if (context.kept_machines != nullptr && files_.empty()) {
        Machines& kept = context.kept_machines->of(view());
        add_variants(kept.catalogue());
        return kept;
    }
    Machines machines{catalogue(context), view()};
    machines.report_to(context.used_files);
    return machines;
}

model::Catalogue GpuOptions::catalogue(const Context& context, std::string_view without) const {
    model::Catalogue catalogue = model::Catalogue::with_user_files(without);
    for (const std::string& broken : catalogue.left_out()) {
        context.err << "ridge: left out: " << printable(broken) << '\n';
    }
    for (const std::string& file : files_) catalogue.add_file(file);
    add_variants(catalogue);
    require_effect(catalogue);
    require_known_default(catalogue);
    return catalogue;
}

/// Adds the slices and power limits that --gpu names, unless the catalogue has them.
void GpuOptions::add_variants(model::Catalogue& catalogue) const {
    if (gpu_.empty()) return;
    for (const std::string& name : names()) {
        const auto variant = hardware::parse_variant(name);
        if (!variant || !catalogue.canonical_name(name).empty()) continue;
        const hardware::Description base = catalogue.at(variant->base);
        catalogue.add_text(variant_toml(base, *variant), name);
    }
}

/// InputError, at the place of the setting, if the default names no known GPU.
void GpuOptions::require_known_default(const model::Catalogue& catalogue) const {
    if (given()) return;
    const auto usual = default_gpu();
    if (!usual || !catalogue.canonical_name(usual->name).empty()) return;
    throw InputError((usual->location.file.empty() ? usual->origin : "gpu") + ": unknown GPU \"" +
                         usual->name + "\"",
                     usual->location, catalogue.suggestion(usual->name));
}

/// InputError if a requested overlay would have no effect.
void GpuOptions::require_effect(const model::Catalogue& catalogue) const {
    for (const model::OverlayEntry& overlay : catalogue.overlays()) {
        if (std::find(files_.begin(), files_.end(), overlay.origin) == files_.end()) continue;
        if (datasheet_) {
            throw InputError("--datasheet ignores overlays, so this one has no effect",
                             {.file = overlay.origin}, "give one of the two");
        }
        if (catalogue.canonical_name(overlay.target).empty()) {
            throw InputError("overlays \"" + overlay.target + "\", which is not a known GPU",
                             {.file = overlay.origin}, catalogue.suggestion(overlay.target));
        }
    }
}

}  // namespace ridge::cli
