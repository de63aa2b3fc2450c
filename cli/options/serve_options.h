// The options of `ridge serve`: the model, the deployment, the engine, the load, the targets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answers/traffic.h"
#include "cli/options/target_options.h"
#include "model/core/software_choice.h"

namespace ridge::cli {

class CommandLine;

class ServeOptions {
  public:
    explicit ServeOptions(CommandLine& line);

    [[nodiscard]] const std::string& model() const { return model_; }
    /// InputError names the option.
    [[nodiscard]] answers::TrafficQuestion question(
        const programs::Architecture& architecture) const;
    /// Whose kernels.
    [[nodiscard]] model::SoftwareChoice software() const;

  private:
    void add_deployment(CommandLine& line);
    void add_scheduler(CommandLine& line);
    void add_load(CommandLine& line);
    [[nodiscard]] programs::Deployment deployment(const programs::Architecture& architecture,
                                                  const programs::Engine& engine) const;
    [[nodiscard]] programs::Speculation speculation(programs::Deployment& deployment) const;
    [[nodiscard]] programs::AdapterSlots adapters(std::int64_t sequences) const;
    void add_drafts(CommandLine& line);
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
    std::string draft_ = "none", draft_model_, draft_tree_;
    std::int64_t draft_tokens_ = 3;
    double acceptance_ = 0.7;
    double slower_host_ = 1.0;
    std::int64_t adapters_ = 0, rank_ = 16, images_ = 1;
    std::string adapter_slots_, offload_, vision_;
    std::string rate_, concurrency_, log_;
    std::string count_ = "1000";
    std::string prompt_ = "512", answer_ = "256";
    double burstiness_ = 1.0, prefix_ = 0.0, urgent_ = 0.0;
    std::int64_t groups_ = 8;
    std::uint64_t seed_ = 1;
    std::optional<TargetOptions> targets_;  ///< made where its options are listed
};

}  // namespace ridge::cli
