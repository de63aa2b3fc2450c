// The options of `ridge serve`: the model, the deployment, the engine, the load, the targets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answers/traffic.h"
#include "cli/options/server_extras.h"
#include "cli/options/target_options.h"
#include "model/core/software_choice.h"
#include "programs/traffic/steady.h"

namespace ridge::cli {

class CommandLine;

class ServeOptions {
  public:
    explicit ServeOptions(CommandLine& line);

    [[nodiscard]] const std::string& model() const { return model_; }
    /// InputError names the option.
    [[nodiscard]] answers::TrafficQuestion question(
        const programs::Architecture& architecture) const;
    /// Whether the steady state is asked for, instead of runs.
    [[nodiscard]] bool steady() const { return steady_; }
    /// What is asked of it. InputError names an option that it does not have.
    [[nodiscard]] programs::SteadyService service(const answers::TrafficQuestion& question) const;
    /// Whose kernels.
    [[nodiscard]] model::SoftwareChoice software() const;

  private:
    void add_deployment(CommandLine& line);
    void add_scheduler(CommandLine& line);
    void add_load(CommandLine& line);
    [[nodiscard]] programs::Deployment deployment(const programs::Architecture& architecture,
                                                  const programs::Engine& engine) const;
    [[nodiscard]] programs::Engine engine() const;
    [[nodiscard]] std::optional<answers::Separate> separate() const;

    std::string model_;
    std::string software_ = "vllm";
    std::string dtype_ = "bf16", kv_dtype_, quantise_;
    std::int64_t tp_ = 1, dp_ = 1, pp_ = 1, replicas_ = 1;
    std::string ep_;
    std::string separate_, link_;
    std::string chunk_, batch_;
    std::int64_t block_ = 0;
    bool whole_prompts_ = false, no_prefix_cache_ = false;
    std::string sampling_ = "top";
    double slower_host_ = 1.0;
    std::int64_t images_ = 1;
    std::string vision_;
    std::string rate_, concurrency_, log_;
    std::string count_ = "1000";
    std::string prompt_ = "512", answer_ = "256";
    double burstiness_ = 1.0, urgent_ = 0.0;
    bool steady_ = false;
    std::uint64_t seed_ = 1;
    std::optional<TargetOptions> targets_;  ///< made where its options are listed
    std::optional<ServerExtras> extras_;    ///< likewise
};

}  // namespace ridge::cli
