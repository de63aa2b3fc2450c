// What a deployment does to its users, as a table, Markdown, CSV and JSON (docs/serve.schema.json).
#pragma once

#include <string>
#include <vector>

#include "answers/traffic.h"
#include "cli/console/context.h"
#include "cli/console/format.h"
#include "hardware/json.h"
#include "plot/chart.h"
#include "plot/report.h"

namespace ridge::cli {

void write_traffic(const Context& context, const answers::TrafficAnswer& answer, Format format);
[[nodiscard]] Json to_json(const answers::TrafficAnswer& answer);
/// A page with the verdict first, then the charts. `command` is the command line that makes it again.
[[nodiscard]] plot::Report traffic_page(const answers::TrafficAnswer& answer,
                                        std::vector<plot::Chart> charts,
                                        const std::string& command);
/// "llama-3.1-8b on 2 x h100-sxm, tp 2, vllm"
[[nodiscard]] std::string title_of(const answers::TrafficAnswer& answer);
/// "prompts of 512, answers of 256"
[[nodiscard]] std::string load_of(const answers::TrafficAnswer& answer);

}  // namespace ridge::cli
