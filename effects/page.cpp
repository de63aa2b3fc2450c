#include "effects/page.h"

#include <fmt/format.h>

#include <utility>

#include "effects/chart.h"
#include "effects/opening.h"

namespace ridge::effects {

namespace {

plot::TextTable kernels_of(const Study& study) {
    plot::TextTable table{.caption = "Kernels by name",
                          .columns = {"", "Operation", "Tile in the model", "Measured kernel"},
                          .rows = {}};
    for (const KernelRow& row : study.kernels) {
        table.rows.push_back({row.name, row.operation, row.predicted,
                              row.measured.empty() ? "not measured on this GPU" : row.measured});
    }
    return table;
}

}  // namespace

plot::Sections page_of(std::span<const Study> studies, const Subject& subject) {
    plot::Sections page;
    if (studies.size() == 1) {
        page.title = std::string(studies.front().effect->title) + " on " + subject.machine.title;
        page.lead = "Filled marks are measured; lines, half-filled and hollow marks are predicted.";
    } else {
        page.title = "GPU performance in " + std::to_string(studies.size()) + " effects";
        page.lead = fmt::format(
            "Each effect is shown on {}: what the model predicts, what was measured, and why. "
            "Filled marks are measured; lines, half-filled and hollow marks are predicted; each "
            "part ends with a "
            "ratio and says how far apart the two are. Equation numbers are those of "
            "docs/model.md.",
            subject.machine.title);
        page.sections.push_back(opening_of(subject));
    }
    for (const Study& study : studies) {
        plot::Section section{.id = std::string(study.effect->name),
                              .title = std::string(study.effect->title),
                              .lead = std::string(study.effect->question)};
        if (studies.size() == 1) section.title = std::exchange(section.lead, {});
        if (!study.refused.empty()) {
            section.paragraphs.push_back("This cannot be shown on " + study.gpu + ": " +
                                         study.refused + ".");
        } else {
            section.paragraphs = study.paragraphs;
            section.charts = charts_of(study, subject);
            if (!study.kernels.empty()) section.tables = {kernels_of(study)};
            section.facts = {{"Formula", study.formula},
                             {"Equations", std::string(study.effect->equations)},
                             {"Predicted and measured", study.verdict}};
        }
        page.sections.push_back(std::move(section));
    }
    if (studies.size() > 1) page.sections.push_back(ratios_of(studies));
    return page;
}

}  // namespace ridge::effects
