// The requests that a server gets: drawn from distributions, or read from a log.
//
//   const Lengths prompt = parse_lengths("lognormal:1024:0.8", "prompt");
//   std::vector<TrafficRequest> all = draw({.count = 1000, .rate = 4.0, .prompt = prompt, ...});
//   read_request_log(text, "log.csv");
//
// Distributions of lengths: "512" (all alike), "100-2000" (uniform), "exponential:512" (mean),
// "lognormal:512:0.8" (mean, deviation over mean), "zipf:16-4096" (p ~ 1 / length). Arrivals are
// Poisson, or less regular (`burstiness`). Tokens of images stand at the start of a prompt. Logs: CSV with a heading, or one JSON object per line (docs/serving.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "programs/traffic/random.h"

namespace ridge::programs {

struct TrafficRequest {
    std::int64_t arrival_ns = 0;  ///< since the start
    std::int64_t prompt = 0;      ///< tokens
    std::int64_t answer = 0;      ///< tokens, at least 1
    std::int64_t prefix = 0;      ///< tokens at its start that it shares with its group
    std::int64_t group = -1;      ///< requests that begin alike; -1: with no other
    std::int64_t priority = 0;    ///< lower is served first
    std::int64_t vision = 0;    ///< of the prompt, made by the model's encoder from images or video
    std::int64_t images = 1;    ///< or frames that the encoder takes together, of these
    std::int64_t adapter = -1;  ///< that it uses; -1: none
};

enum class LengthLaw : std::uint8_t { fixed, uniform, exponential, lognormal, zipf };
struct Lengths {
    LengthLaw law = LengthLaw::fixed;
    double first = 512.0;  ///< the length, its mean, or the least
    double second = 0.0;   ///< the most, or the deviation over the mean

    [[nodiscard]] double mean() const;
    [[nodiscard]] std::int64_t draw(Random& random) const;
};
/// InputError naming `field`.
[[nodiscard]] Lengths parse_lengths(std::string_view text, std::string_view field);
[[nodiscard]] std::string text_of(const Lengths& lengths);

struct TrafficLoad {
    std::int64_t count = 1000;  ///< requests
    double rate = 0.0;          ///< requests/s; 0: as many at a time as `concurrency` says
    std::int64_t concurrency = 0;
    double burstiness = 1.0;  ///< variance of the gaps over that of Poisson arrivals, 1 to 3
    Lengths prompt{};
    Lengths answer{.first = 256.0};
    double prefix = 0.0;              ///< share of each prompt that its group has in common
    std::int64_t groups = 8;          ///< groups with a common prefix
    std::optional<Lengths> vision{};  ///< tokens of images that each prompt has besides
    std::int64_t images = 1;          ///< or frames, that share them
    std::int64_t adapters = 0;        ///< of which each request uses one; 0: none
    double urgent = 0.0;              ///< share of requests with priority 0; the others have 1
    std::uint64_t seed = 1;
};
/// InputError naming the field.
void validate(const TrafficLoad& load);
/// The requests in the order of arrival. The lengths do not depend on rate and concurrency, so that
/// two loads with one seed differ in their arrivals alone.
[[nodiscard]] std::vector<TrafficRequest> draw(const TrafficLoad& load);

/// Columns or members: arrival_s (or arrival_ms, timestamp), prompt_tokens, answer_tokens, and as
/// wanted prefix_tokens, group, priority, vision_tokens, adapter. InputError with file and line.
[[nodiscard]] std::vector<TrafficRequest> read_request_log(std::string_view text,
                                                           const std::string& file);

}  // namespace ridge::programs
