// The parameters of the model: each is declared once, and fields, readers, fits and documentation
// follow from the declaration.
#include "model/machine/parameters.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "hardware/document.h"
#include "hardware/embedded.h"
#include "hardware/error.h"
#include "hardware/loader.h"
#include "hardware/units.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/embedded.h"
#include "model/machine/evidence.h"
#include "model/machine/residual_parameters.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

std::string value_text(const hardware::Field& field) {
    switch (field.kind) {
        case hardware::ValueKind::quantity:
            return '"' + std::string(quantity_kind(field.dimension).example) + '"';
        case hardware::ValueKind::count:
            return "count";
        case hardware::ValueKind::number:
            return "number";
        case hardware::ValueKind::text:
            return "text";
    }
    return {};
}

std::string row_text(const hardware::Field& field) {
    std::string row = "| `" + field.path + "` | " + value_text(field) + " | ";
    if (const ModelParameter* const parameter = find_parameter(field.path)) {
        row += range_text(field) + " | " + std::string(to_string(parameter->origin)) + " | ";
    }
    row += meaning_of(field);
    if (field.presence == hardware::Presence::required_for_gpu) row += " (required for a GPU)";
    return row + " |\n";
}

/// The lists in docs/gpu-files.md.
std::string list_text() {
    std::string devices = "| field | value | meaning |\n|---|---|---|\n";
    for (const hardware::Field& field : hardware::device_schema().fields()) {
        devices += row_text(field);
    }
    std::string parameters = "| field | value | range | from | meaning |\n|---|---|---|---|---|\n";
    for (const ModelParameter& each : model_parameters()) parameters += row_text(each.field);
    std::string corrections = "| field | value | meaning |\n|---|---|---|\n";
    for (const hardware::Field& field : residual_schema()) corrections += row_text(field);
    return "## Facts about devices\n\n" + devices + "\n## Parameters of the model\n\n" +
           "`ridge fit` of public tables or of records determines a parameter, a microbenchmark or "
           "a counter measures it, or it is assumed:\ntaken from documents, sources or "
           "figures. What a GPU's own file does not give comes from its architecture.\n\n" +
           parameters +
           "\n## Corrections by residuals\n\n"
           "`ridge fit residual` writes them (docs/model.md K1 to K4), in overlays of their "
           "own.\n\n" +
           corrections;
}

TEST_CASE("docs/gpu-files.md lists every field as declared", "[parameters]") {
    const std::string file = RIDGE_DOCS "/gpu-files.md";
    const std::string page = hardware::read_text_file(file);
    const std::size_t begin = page.find("## Facts about devices\n");
    REQUIRE(begin != std::string::npos);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): tests run in one thread
    if (std::getenv("RIDGE_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(file) << page.substr(0, begin) + list_text();
        SUCCEED("rewritten");
        return;
    }
    CHECK(page.substr(begin) == list_text());
}

TEST_CASE("every parameter is a field of the schema and has a place in a machine", "[parameters]") {
    std::set<std::string> paths;
    std::set<std::string> placed;
    for (const ModelParameter& each : model_parameters()) {
        CAPTURE(each.field.path);
        CHECK(paths.insert(each.field.path).second);
        CHECK(find_parameter(each.field.path) == &each);
        const hardware::Field* const field = schema().find(each.field.path);
        REQUIRE(field != nullptr);
        CHECK(each.field.range.least > 0.0);
        CHECK(each.field.range.least < each.field.range.most);
        CHECK_FALSE(each.field.meaning.empty());
    }
    const model::Catalogue gpus = catalogue();
    for (const char* const name : {"h200-sxm", "a100-pcie-40gb", "h100-sxm", "b200", "l4"}) {
        Machine machine = make_machine(gpus.at(name));
        for (const ModelParameter& each : model_parameters()) {
            const auto before = each.read(machine);
            if (!before) continue;
            CAPTURE(each.field.path);
            const double other = each.field.kind == hardware::ValueKind::count ? 16.0 : 0.5;
            REQUIRE(each.write(machine, other));
            CHECK(each.read(machine).value() == Approx(other));
            REQUIRE(each.write(machine, *before));
            placed.insert(each.field.path);
        }
    }
    CHECK(placed == paths);
}

TEST_CASE("a machine has the values of its description's fields", "[parameters]") {
    const model::Catalogue gpus = catalogue();
    for (const model::CatalogueEntry& entry : gpus.entries()) {
        const hardware::Description& gpu = gpus.at(entry.name);
        const Machine machine = make_machine(gpu);
        for (const ModelParameter& each : model_parameters()) {
            const auto described = gpu.value(each.field.path);
            const auto read = each.read(machine);
            if (!described || !read) continue;
            // Power fractions are capped by the rates that a library reached on the GPU.
            if (each.name == "burst_fraction" || each.name == "sustained_fraction") continue;
            // A power limit or the width of the L2 replaces these estimates (eq. L5, L9).
            const bool by_law = each.name == "tensor_fraction" ||
                                each.name == "backward_tensor_fraction" || each.name == "l2_read" ||
                                each.name == "l2_write";
            const bool estimate = gpu.provenance(each.field.path) == hardware::Provenance::estimate;
            if (by_law && estimate) continue;
            // Energies of another GPU are scaled to this one (eq. EN8).
            if (each.section == "energy" && evidence_in(gpu, each.field.path) != Evidence::own) {
                continue;
            }
            CAPTURE(entry.name, each.field.path);
            // GPUs without links share the rate of PCIe switches instead of the family's link rate.
            const bool linked = gpu.find("link.per_direction") != nullptr;
            if (each.section.starts_with("collective") && !linked) continue;
            CHECK(*read == Approx(*described).epsilon(1e-12));
        }
    }
}

/// The contents of an embedded file of chips, software or calibrations.
hardware::Description contents_of(const hardware::EmbeddedFile& file) {
    const std::string path(file.path);
    const std::string kind = hardware::kind_of(file.text, path);
    hardware::Form form;
    for (const hardware::Form* const each :
         {&software_form(), &calibration_form(), &laws_form(), &carry_over_form()}) {
        if (each->kind == kind) form = *each;
    }
    const hardware::Loaded loaded = hardware::load_text(file.text, path, schema(), form);
    CHECK(loaded.problems.empty());
    return loaded.description;
}

TEST_CASE("every embedded file loads and uses every source that it declares", "[parameters]") {
    for (const auto files : {hardware::embedded_files(), software_files(), calibration_files()}) {
        for (const hardware::EmbeddedFile& file : files) {
            if (file.path.ends_with(".trees")) continue;
            CAPTURE(file.path);
            const hardware::Description read = contents_of(file);
            std::set<std::string> used;
            for (const auto& [path, datum] : read.data) {
                used.insert(datum.sources.begin(), datum.sources.end());
                for (const hardware::Dispute& dispute : datum.disputes) {
                    used.insert(dispute.sources.begin(), dispute.sources.end());
                }
            }
            for (const auto& [key, source] : read.sources) {
                CAPTURE(key);
                CHECK(used.contains(key));
            }
        }
    }
}

// A value that many architectures share is carried over or inherited, so that a new fit changes one file.
TEST_CASE("no parameter is copied from architecture to architecture", "[parameters]") {
    constexpr std::size_t most_files = 4;
    std::map<std::string, std::size_t> files_with;
    for (const auto files : {software_files(), calibration_files()}) {
        for (const hardware::EmbeddedFile& file : files) {
            if (file.path.ends_with(".trees")) continue;
            const hardware::Description read = contents_of(file);
            if (!read.words.text("chip").empty()) continue;
            for (const auto& [path, datum] : read.data) {
                if (path.starts_with("model.")) ++files_with[path + " = " + written(datum)];
            }
        }
    }
    CHECK(files_with.size() > 500);
    for (const auto& [value, files] : files_with) {
        CAPTURE(value);
        CHECK(files <= most_files);
    }
}

TEST_CASE("a value outside its range is refused by name, in a file and in memory", "[parameters]") {
    const std::string text =
        "schema = 1\nkind = \"overlay\"\nname = \"x\"\noverlay = \"h200-sxm\"\n"
        "sources.F = { kind = \"measured\", text = \"fit\" }\n"
        "model.matmul.mma.issue_fraction = { value = 3.5, source = \"F\" }\n";
    const hardware::Loaded loaded = hardware::load_text(text, "x.toml", schema());
    REQUIRE(loaded.problems.size() == 1);
    CHECK(to_string(loaded.problems[0]) ==
          "x.toml:6:45: model.matmul.mma.issue_fraction must lie in the range 0.0001 to 2");
    hardware::Description gpu = catalogue().at("h200-sxm");
    gpu.data.find("model.matmul.mma.issue_fraction")->second.value = 3.5;
    CHECK_THROWS_WITH(make_machine(gpu), contains_text("model.matmul.mma.issue_fraction"));
}

}  // namespace
}  // namespace ridge::model
