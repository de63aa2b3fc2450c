// `ridge model --serve` and `--advise`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/charts/chart_output.h"
#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/options/energy_options.h"
#include "cli/options/server_extras.h"
#include "cli/options/target_options.h"
#include "cli/views/model_step.h"
#include "programs/configs/architecture.h"
#include "programs/software/request.h"

namespace ridge::cli {

class CommandLine;

struct ServingOptions {
    explicit ServingOptions(CommandLine& line);
    /// InputError naming an option that changes nothing without --serve.
    void check() const;

    bool serve = false;
    bool advise = false;
    std::int64_t answer = 256;
    std::int64_t most = 256;
    std::optional<TargetOptions> targets;  ///< made where its options are listed
    std::optional<ServerExtras> extras;    ///< likewise
    double requests = 0.0;
    EnergyPriceOptions energy;
};

/// The model that is served, and where.
struct Served {
    programs::Request request;
    std::vector<std::int64_t> degrees;  ///< of tensor parallelism
    Place place;
    std::string engine = "vllm";  ///< whose host and limits
};

/// What is drawn of the points, and where.
enum class ServedFront : std::uint8_t { throughput, energy };
struct ServingChart {
    const ChartOutput& output;
    ServedFront front = ServedFront::throughput;
};

/// Writes points over batch sizes as a table, CSV, JSON or chart; returns the exit code.
int write_serving(const Context& context, const ServingOptions& options, const ServingChart& chart,
                  const programs::Architecture& architecture, const Served& served, Format format);

void write_advice(const Context& context, const programs::Architecture& architecture,
                  const programs::Request& request, const Place& place, Format format);

}  // namespace ridge::cli
