// The options of `ridge model` and `ridge compare model`: which model, which step, on what.
//
//   ModelOptions options(line, Lists::allowed);
//   for (const Variant& each : options.variants()) each.names, each.request;
//
// With lists, --software, --dtype, --tp and --batch take several values; every combination is a
// variant. Without, `request` wants one of each.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "programs/configs/architecture.h"
#include "programs/host.h"
#include "programs/software/request.h"

namespace ridge::cli {

class CommandLine;

/// The time that an option was given, if it was; InputError names the option.
[[nodiscard]] std::optional<Time> time_option(const std::string& text, const char* name);

enum class Lists { refused, allowed };

class ModelOptions {
  public:
    explicit ModelOptions(CommandLine& line, Lists lists = Lists::refused);

    [[nodiscard]] const std::string& config() const { return config_; }
    /// The host that --host and --launch ask for, `beside` where they do not; InputError naming the option.
    [[nodiscard]] programs::Host host_or(const programs::Host& beside) const;
    /// A length that nobody named is 2048 tokens, or the positions that the model has.
    void settle_length(const programs::Architecture& architecture);
    /// InputError naming the option.
    [[nodiscard]] programs::Request request() const;
    /// For serving, where several degrees of tensor parallelism may stand side by side.
    [[nodiscard]] programs::Request serving_request() const;
    [[nodiscard]] std::vector<std::int64_t> degrees() const;

    struct Variant {
        std::vector<std::string> values;  ///< of the options in `varying`
        programs::Request request;
    };
    /// Options with several values, "software", "dtype", "tp", "batch" in this order.
    [[nodiscard]] std::vector<std::string> varying() const;
    [[nodiscard]] std::vector<Variant> variants() const;

  private:
    struct Values {
        std::vector<std::string> software, dtypes;
        std::vector<std::int64_t> degrees, batches;
    };
    [[nodiscard]] Values values() const;
    [[nodiscard]] programs::Request request_of(const std::string& software,
                                               const std::string& dtype, std::int64_t tp,
                                               std::int64_t batch) const;

    void check_phase(const programs::Request& request) const;

    std::string config_;
    std::string phase_ = "prefill";
    std::string software_ = "transformers";
    std::string dtype_ = "bf16";
    std::string kv_dtype_;
    std::string quantise_ = "none";
    std::string logits_;
    std::string optimizer_ = "adamw";
    std::string amp_;
    std::string host_;
    std::string launch_;
    std::string checkpoint_ = "none";
    std::string batch_ = "1";
    std::string tp_ = "1";
    static constexpr std::int64_t unnamed = std::numeric_limits<std::int64_t>::min();
    std::int64_t seq_ = unnamed;
    std::int64_t ep_ = 1;
    std::int32_t zero_ = 0;
    std::int64_t gpus_ = 1;
    bool no_cache_ = false;
};

}  // namespace ridge::cli
