// The options of `ridge model`: which model, which step, on what.
#pragma once

#include <cstdint>
#include <string>

#include "programs/configs/architecture.h"
#include "programs/software/request.h"

namespace ridge::cli {

class CommandLine;

class ModelOptions {
  public:
    explicit ModelOptions(CommandLine& line);

    [[nodiscard]] const std::string& config() const { return config_; }
    /// Name of the computer beside the GPU; empty: the one that belongs to it.
    [[nodiscard]] const std::string& host() const { return host_; }
    /// InputError naming the option.
    [[nodiscard]] programs::Request request() const;

  private:
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
    std::string checkpoint_ = "none";
    std::int64_t batch_ = 1;
    std::int64_t seq_ = 2048;
    std::int64_t tp_ = 1;
    std::int64_t ep_ = 1;
    std::int32_t zero_ = 0;
    std::int64_t gpus_ = 1;
    bool no_cache_ = false;
};

}  // namespace ridge::cli
