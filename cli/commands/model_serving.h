// `ridge model --serve` and `--advise`.
#pragma once

#include <cstdint>
#include <string>

#include "cli/charts/chart_output.h"
#include "cli/console/context.h"
#include "model/machine/machine.h"
#include "programs/configs/architecture.h"
#include "programs/host.h"
#include "programs/software/request.h"

namespace ridge::cli {

class CommandLine;

struct ServingOptions {
    explicit ServingOptions(CommandLine& line);

    bool serve = false;
    bool advise = false;
    std::int64_t answer = 256;
    std::int64_t most = 256;
    std::string ttft;
    std::string tpot;
    double price = 0.0;
    double requests = 0.0;
};

/// Points over batch sizes, as a table, JSON or chart; the exit code.
int write_serving(const Context& context, const ServingOptions& options, const ChartOutput& chart,
                  const programs::Architecture& architecture, const programs::Request& request,
                  const model::Machine& machine, const programs::Host& host, std::int64_t usable,
                  bool json);

void write_advice(const Context& context, const programs::Architecture& architecture,
                  const programs::Request& request, const model::Machine& machine,
                  const programs::Host& host, bool json);

}  // namespace ridge::cli
