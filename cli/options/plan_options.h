// The options of `ridge plan`: what for, with which sizes and types, on how many GPUs, which targets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answers/deployments.h"
#include "answers/plan.h"
#include "cli/options/server_extras.h"
#include "cli/options/target_options.h"

namespace ridge::cli {

class CommandLine;

class PlanOptions {
  public:
    explicit PlanOptions(CommandLine& line);

    [[nodiscard]] const std::string& model() const { return model_; }
    /// The question about this model. InputError names the option.
    [[nodiscard]] answers::PlanQuestion question(const programs::Architecture& architecture) const;
    /// The search over deployments, if --serve and a target ask for it.
    [[nodiscard]] std::optional<answers::DeploymentQuestion> deployments(
        const answers::PlanQuestion& question) const;
    /// The price of each of `gpus` GPUs: one for all, or one for each. Empty: not given.
    [[nodiscard]] std::vector<std::optional<double>> prices(std::size_t gpus) const {
        return targets_->prices(gpus);
    }

  private:
    void add_layouts(CommandLine& line);
    [[nodiscard]] answers::Purpose purpose() const;
    [[nodiscard]] answers::LayoutChoice layouts() const;
    void check(answers::Purpose purpose) const;

    std::string model_;
    bool serve_ = false;
    bool train_ = false;
    std::string finetune_;
    std::string gpus_ = "1,2,4,8";
    std::string seq_;
    std::string answer_;
    std::string batch_;
    std::string dtype_ = "bf16";
    std::string kv_dtype_;
    std::string quantise_;
    std::string software_;
    std::string amp_;
    std::string optimizer_ = "adamw";
    std::string tp_, ep_, pp_, cp_, dp_, zero_, checkpoint_;
    std::optional<TargetOptions> targets_;  ///< made where its options are listed
    std::optional<ServerExtras> extras_;    ///< likewise
    std::string engine_, rate_;
    std::string reserve_ = "2GiB";
    std::int64_t most_ = 256;
};

}  // namespace ridge::cli
