// The options of `ridge model` and `ridge compare model`: which model, which step, on what.
//
//   ModelOptions options(line);
//   for (const Variant& each : options.variants()) each.names, each.request;
//
// --software, --dtype, --quantise, --tp, --gpus, --zero, --batch and --seq take several values, and
// every combination is a variant. `request` expects one value of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/core/software_choice.h"
#include "programs/configs/architecture.h"
#include "programs/host.h"
#include "programs/software/request.h"

namespace ridge::cli {

class CommandLine;
class Option;

/// The time given to an option, if any. InputError names the option.
[[nodiscard]] std::optional<Time> time_option(const std::string& text, const char* name);

/// The words of --quantise: those of `programs::quantisation_words`, and bf16 for none.
[[nodiscard]] std::vector<std::string> quantise_words();

/// Adds --quantise; `before` opens its help.
Option add_quantise_option(CommandLine& line, std::string& words, std::string_view before = "");

/// What the options mean when they are not given. A serving engine does not train: a training step
/// is then that of transformers.
struct UsualStep {
    std::string phase = "prefill";
    std::string software = "transformers";
};

class ModelOptions {
  public:
    explicit ModelOptions(CommandLine& line, const UsualStep& usual = {});

    [[nodiscard]] const std::string& config() const { return config_; }
    /// The model, by the family that --family names if it is given.
    [[nodiscard]] programs::Architecture architecture() const;
    /// The host that --host and --launch ask for, else `beside`. InputError names the option.
    [[nodiscard]] programs::Host host_or(const programs::Host& beside) const;
    /// Sets the software that counts if none was named.
    void usually(const std::string& software) { usual_software_ = software; }
    /// Sets a length that was not given to 2048 tokens, or to the model's positions if fewer, less those of
    /// an answer.
    void settle_length(const programs::Architecture& architecture, std::int64_t answer = 0);
    /// The request of one step. InputError names the option.
    [[nodiscard]] programs::Request request() const;
    /// The request for serving, which allows several degrees of tensor parallelism.
    [[nodiscard]] programs::Request serving_request() const;
    [[nodiscard]] std::vector<std::int64_t> degrees() const;

    struct Variant {
        std::vector<std::string> values;  ///< one for each option in `varying`
        programs::Request request;
        model::SoftwareChoice software;  ///< whose kernels; the usual choice for the words of 0.1
    };
    /// The options with several values, in the order "software", "dtype", "quantise", "tp", "gpus",
    /// "zero", "batch", "seq".
    [[nodiscard]] std::vector<std::string> varying() const;
    [[nodiscard]] std::vector<Variant> variants() const;

    /// The software of `request`, if it is NAME or NAME-VERSION.
    [[nodiscard]] model::SoftwareChoice software() const;

  private:
    struct Values {
        std::vector<std::string> software, dtypes, quantisations;
        std::vector<std::int64_t> degrees, batches, copies, stages, lengths;
    };
    [[nodiscard]] Values values() const;
    /// One value of each list.
    struct Choice {
        std::string software, dtype, quantise;
        std::int64_t tp = 1, batch = 1, copies = 1, zero = 0, seq = 1;
    };
    [[nodiscard]] programs::Request request_of(const Choice& choice) const;

    void check_phase(const programs::Request& request) const;
    void add_inputs(CommandLine& line);
    void set_images(programs::Request& request) const;

    std::string config_;
    std::string family_;
    std::string phase_;
    std::string software_;
    std::string usual_software_;
    std::string dtype_ = "bf16";
    std::string kv_dtype_;
    std::string quantise_;
    std::string logits_;
    std::string optimizer_ = "adamw";
    std::string amp_;
    std::string host_;
    std::string launch_;
    std::string checkpoint_ = "none";
    std::string batch_ = "1";
    std::string tp_ = "1";
    std::string seq_;
    std::string image_;
    std::int64_t images_ = 0;
    std::int64_t audio_ = 0;
    bool further_ = false;
    std::int64_t ep_ = 1;
    std::string zero_ = "0";
    std::string gpus_ = "1";
    bool no_cache_ = false;
};

}  // namespace ridge::cli
