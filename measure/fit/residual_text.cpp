// Writes corrections as sections of a description, and as a separate overlay.
#include <fmt/format.h>

#include "measure/fit/fit_residual.h"
#include "measure/record/overlay_text.h"

namespace ridge::measure {

std::string residual_overlay(const std::vector<ResidualReport>& reports, const std::string& gpu,
                             const std::string& source) {
    return fmt::format(
               "# Residual corrections; written by ridge fit residual.\nschema = 1\nkind = "
               "\"overlay\"\n"
               "name = \"{0}.residual\"\noverlay = \"{0}\"\ntitle = \"{0}, residual "
               "corrections\"\n\n"
               "[sources]\nFIT = {{ kind = \"derived\", text = {1} }}\n",
               gpu, quoted_toml(source)) +
           residual_sections(reports, gpu);
}

std::string residual_sections(const std::vector<ResidualReport>& reports, const std::string& gpu) {
    std::string text;
    for (const ResidualReport& report : reports) {
        if (report.gpu != gpu || report.fit.forest.empty()) continue;
        const model::ResidualClass each = report.residual_class;
        text += fmt::format(
            "\n[model.residual.{}]\n"
            "implementation = {{ value = \"{}\", source = \"FIT\", note = \"{} rows; "
            "mean error {} {:.1f} % without and {:.1f} % with it\" }}\n"
            "spread = {{ value = {}, source = \"FIT\" }}\n"
            "range = {{ value = \"{}\", source = \"FIT\" }}\n"
            "splits = {{ value = \"{}\", source = \"FIT\" }}\n"
            "trees = {{ value = \"{}\", source = \"FIT\" }}\n",
            name_of(each), name_of(report.fit.implementation), report.rows,
            model::rests_on_records(each) ? "in five held-out folds" : "on a held-out third",
            100.0 * report.before.mean, 100.0 * report.after.mean, report.fit.spread,
            range_text(residual_features(each), report.fit.range),
            splits_text(residual_features(each), report.fit.forest), trees_text(report.fit.forest));
    }
    return text;
}

}  // namespace ridge::measure
