// What a server may have beside its layout, and what its requests share: drafts, adapters, memory of the
// host, prefixes. Of `ridge serve`, `ridge model --serve` and `ridge plan --serve`.
//
//   const ServerExtras extras(line, {.drafts = "Drafts", .adapters = "Engine", .load = "Load"});
//   extras.only(deployment)          // with what was given
//   extras.variants(deployment)      // a search: with each of what was given, and without
//   extras.sharing(2048)             // of prompts of 2048 tokens
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs/traffic/deployment.h"
#include "programs/traffic/steady.h"

namespace ridge::cli {

class CommandLine;

/// How a command words these options.
struct ExtraWords {
    const char* drafts = "Drafts";  ///< groups of the help
    const char* adapters = "Engine";
    const char* load = "Load";
    const char* before = "";  ///< what the helps begin with
    bool search = false;      ///< lists are tried one by one
};

class ServerExtras {
  public:
    ServerExtras(CommandLine& line, const ExtraWords& words);

    [[nodiscard]] bool given() const;
    /// The deployment with the one choice that was given. InputError names the option.
    [[nodiscard]] programs::Deployment only(const programs::Deployment& deployment) const;
    /// With every combination, and without drafts and memory of the host.
    [[nodiscard]] std::vector<programs::Deployment> variants(
        const programs::Deployment& deployment) const;
    [[nodiscard]] programs::Sharing sharing(std::int64_t prompt) const;

    [[nodiscard]] double prefix() const { return prefix_; }
    [[nodiscard]] std::int64_t groups() const { return groups_; }
    [[nodiscard]] std::int64_t adapters() const { return adapters_; }
    [[nodiscard]] std::int64_t rank() const { return rank_; }

  private:
    struct Drafts {
        programs::Speculation speculation{};
        std::shared_ptr<const programs::Architecture> drafter{};
    };
    void add_drafts(CommandLine& line, const ExtraWords& words);
    [[nodiscard]] std::vector<std::vector<std::int64_t>> widths() const;
    [[nodiscard]] std::vector<Drafts> drafts() const;
    [[nodiscard]] std::vector<std::int64_t> slots(std::int64_t sequences) const;
    [[nodiscard]] std::vector<std::int64_t> offloads() const;

    bool search_;
    std::string draft_ = "none", draft_model_, draft_tokens_ = "3", draft_tree_;
    double acceptance_ = 0.7;
    std::int64_t adapters_ = 0, rank_ = 16;
    std::string adapter_slots_, offload_;
    double prefix_ = 0.0;
    std::int64_t groups_ = 8;
};

}  // namespace ridge::cli
