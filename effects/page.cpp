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
        const Effect& effect = *studies.front().effect;
        page.title = effect.on(effect.title, subject.machine.title);
        page.lead = "Filled marks are measured; lines, half-filled and hollow marks are predicted.";
    } else {
        page.title = "GPU performance in " + std::to_string(studies.size()) + " effects";
        page.lead = fmt::format(
            "Each effect is shown on {}. Filled marks are measured; lines, half-filled and hollow "
            "marks are predicted. The explorer (`ridge explore`) has the same lessons and more, "
            "with pictures that move; `ridge effect NAME` shows one with all its charts.",
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
            section.facts = {{"Formula", study.formula},
                             {"Equations", std::string(study.effect->equations)},
                             {"Predicted and measured", study.verdict}};
            section.beside = studies.size() > 1;
            if (section.beside && section.charts.size() > 1) {
                section.charts.erase(section.charts.begin() + 1, section.charts.end());
            }
            if (!section.beside && !study.kernels.empty()) section.tables = {kernels_of(study)};
        }
        page.sections.push_back(std::move(section));
    }
    if (studies.size() > 1) page.sections.push_back(ratios_of(studies));
    return page;
}

}  // namespace ridge::effects
