#include "measure/ranks/rank_group.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "hardware/error.h"
#include "measure/ranks/child.h"
#include "measure/ranks/combine.h"
#include "measure/ranks/messages.h"
#include "measure/ranks/serve.h"
#include "measure/record/question.h"
#include "measure/statistics/quantile.h"
#include "model/collectives/work.h"

namespace ridge::measure {
namespace {

constexpr const char* no_additions = "NCCL_NVLS_ENABLE=0";
constexpr double sample_seconds = 1e-3;  ///< that the repetitions of one sample last together
constexpr std::int32_t fewest_repetitions = 5;
constexpr std::int32_t most_repetitions = 100;

/// The ranks' processes. Any failure ends all of them.
class Ranks {
  public:
    explicit Ranks(const GroupRequest& request) : seconds_(request.seconds) {
        std::vector<std::string> command = request.command;
        if (command.empty()) command = {"/proc/self/exe", std::string(rank_command)};
        std::vector<std::string> settings;
        if (request.nvls == model::SwitchAddition::off) settings.push_back(no_additions);
        for (std::int32_t rank = 0; rank < request.gpus; ++rank) {
            std::vector<std::string> words = command;
            for (const std::int32_t word : {rank, request.gpus, rank}) {
                words.push_back(std::to_string(word));
            }
            children_.push_back(Child::start(words, "rank " + std::to_string(rank), settings));
        }
    }
    // All channels close before any process is waited for: ranks leave the library together.
    ~Ranks() {
        constexpr double patience = 5.0;
        for (Child& child : children_) child.hang_up();
        for (Child& child : children_) child.finish(patience);
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    [[nodiscard]] bool usable() const { return usable_; }

    /// The answers of all ranks, in order.
    std::vector<Json> ask_all(const Json& request) { return ask(children_, request); }
    Json ask_first(const Json& request) {
        return ask({children_.data(), std::min<std::size_t>(1, children_.size())}, request).front();
    }

  private:
    std::vector<Json> ask(std::span<Child> children, const Json& request) {
        if (!usable_) throw DeviceError("the processes of the GPUs have ended");
        try {
            std::vector<Json> answers(children.size());
            for (Child& child : children) child.send(request.text());
            Child::receive_all(children, seconds_, [&](std::size_t i, const std::string& line) {
                answers[i] = answer_in(line, children[i].name());
            });
            return answers;
        } catch (...) {
            usable_ = false;
            children_.clear();
            throw;
        }
    }

    static Json answer_in(const std::string& line, const std::string& name) {
        const std::optional<Json> answer = Json::parse(line);
        if (!answer) throw DeviceError(name + " gave an answer that is not JSON");
        if (answer->find("failed") != nullptr) {
            throw DeviceError(name + ": " + text_in(*answer, "failed"));
        }
        return *answer;
    }

    std::vector<Child> children_;
    double seconds_;
    bool usable_ = true;
};

/// What the first rank that refuses says.
std::optional<Unavailable> refusal_in(const std::vector<Json>& answers) {
    for (std::size_t rank = 0; rank < answers.size(); ++rank) {
        if (answers[rank].find("unavailable") == nullptr) continue;
        return Unavailable{.reason = text_in(answers[rank], "unavailable"),
                           .remedy = text_in(answers[rank], "remedy")};
    }
    return std::nullopt;
}

class GroupCase final : public Case {
  public:
    GroupCase(Ranks& ranks, Geometry geometry) : ranks_(ranks), geometry_(std::move(geometry)) {}

    [[nodiscard]] model::Implementation implementation() const override {
        return model::Implementation::library;
    }
    [[nodiscard]] Geometry geometry() const override { return geometry_; }

    [[nodiscard]] Verification verify() override {
        std::vector<RankVerdict> verdicts;
        for (const Json& answer : ranks_.ask_all({{"do", "verify"}})) {
            verdicts.push_back(verdict_in(answer));
        }
        geometry_.collective = verdicts.front().choice;
        return worst(verdicts);
    }

    [[nodiscard]] std::vector<Sample> sample(const SampleRequest& request) override {
        RankSampleRequest asked{.launch = request.launch, .count = request.count};
        if (request.launch != model::LaunchMode::kernel) asked.repetitions = repetitions();
        return combined(asked);
    }

    [[nodiscard]] Maybe<Counters> counters(std::span<const CounterGroup>, model::L2State) override {
        return Unavailable{.reason = "counters of collectives are not read"};
    }

  private:
    std::vector<Sample> combined(const RankSampleRequest& request) {
        const std::vector<Json> answers = ranks_.ask_all({{"do", "sample"},
                                                          {"launch", name_of(request.launch)},
                                                          {"count", request.count},
                                                          {"repetitions", request.repetitions}});
        std::vector<std::vector<RankSample>> by_rank;
        for (const Json& answer : answers) {
            by_rank.push_back(samples_in(answer));
            if (by_rank.back().size() != static_cast<std::size_t>(request.count)) {
                throw DeviceError("a rank took another number of samples than it was asked for");
            }
        }
        std::vector<Sample> samples;
        for (std::size_t i = 0; i < by_rank.front().size(); ++i) {
            std::vector<RankSample> together;
            for (const std::vector<RankSample>& rank : by_rank) together.push_back(rank[i]);
            samples.push_back(combine(together, request));
        }
        return samples;
    }

    /// As many runs as last about a millisecond, by a few samples of one run.
    std::int32_t repetitions() {
        if (repetitions_ > 0) return repetitions_;
        constexpr std::int32_t few = 5;
        std::vector<double> times;
        for (const Sample& sample : combined({.count = few})) times.push_back(sample.time.base());
        const double runs = std::ceil(sample_seconds / median_of(times));
        repetitions_ = std::clamp(static_cast<std::int32_t>(std::min(runs, 1e6)),
                                  fewest_repetitions, most_repetitions);
        return repetitions_;
    }

    Ranks& ranks_;
    Geometry geometry_;
    std::int32_t repetitions_ = 0;
};

class RankGroup final : public Device {
  public:
    RankGroup(std::unique_ptr<Ranks> ranks, DeviceInfo info, std::int32_t gpus)
        : ranks_(std::move(ranks)), info_(std::move(info)), gpus_(gpus) {}

    [[nodiscard]] const DeviceInfo& info() const override { return info_; }
    [[nodiscard]] Environment environment() override {
        return environment_in(ranks_->ask_first({{"do", "environment"}}));
    }

    [[nodiscard]] Maybe<std::unique_ptr<Case>> prepare(const model::Operation& operation,
                                                       const model::Execution& execution,
                                                       DataPattern pattern) override {
        const std::optional<std::int32_t> needed = ranks_of(operation);
        if (needed != gpus_) {
            return Unavailable{.reason = "the processes of " + std::to_string(gpus_) +
                                         " GPUs measure collectives among all of them"};
        }
        if (execution.implementation != model::Implementation::library) {
            return Unavailable{.reason = "impl " + std::string(name_of(execution.implementation)) +
                                         " of a collective is predicted, not measured",
                               .remedy = "use impl=library"};
        }
        if (execution.l2 != model::L2State::warm) {
            return Unavailable{.reason = "collectives are measured with a warm L2",
                               .remedy = "use l2=warm"};
        }
        const std::vector<Json> answers = ranks_->ask_all({{"do", "prepare"},
                                                           {"op", canonical_text(operation)},
                                                           {"launch", name_of(execution.launch)},
                                                           {"pattern", name_of(pattern)}});
        if (auto refused = refusal_in(answers)) return *std::move(refused);
        return std::make_unique<GroupCase>(*ranks_, geometry_in(answers.front()));
    }

    [[nodiscard]] Maybe<MicrobenchmarkResult> run(const MicrobenchmarkRequest&) override {
        return Unavailable{.reason = "microbenchmarks run on one GPU"};
    }
    [[nodiscard]] bool usable() const override { return ranks_->usable(); }

  private:
    std::unique_ptr<Ranks> ranks_;
    DeviceInfo info_;
    std::int32_t gpus_;
};

}  // namespace

model::SwitchAddition additions_of_environment() {
    const char* const set = std::getenv("NCCL_NVLS_ENABLE");
    const bool off = set != nullptr && std::string_view(set) == "0";
    return off ? model::SwitchAddition::off : model::SwitchAddition::automatic;
}

std::optional<std::int32_t> ranks_of(const model::Operation& operation) {
    const auto* const collective = std::get_if<model::Collective>(&operation);
    if (collective == nullptr || model::is_host_copy(collective->kind)) return std::nullopt;
    return static_cast<std::int32_t>(std::min<std::int64_t>(collective->gpus, 1 << 20));
}

Maybe<std::unique_ptr<Device>> open_group(const GroupRequest& request) {
    RIDGE_CONTRACT(request.gpus >= 1);
    auto ranks = std::make_unique<Ranks>(request);
    const std::vector<Json> opened = ranks->ask_all({{"do", "open"}});
    if (auto refused = refusal_in(opened)) return *std::move(refused);
    const std::string id = text_in(ranks->ask_first({{"do", "id"}}), "id");
    Json addresses = Json::array();
    for (const Json& joined : ranks->ask_all({{"do", "join"}, {"id", id}})) {
        addresses.push_back(text_in(joined, "address"));
    }
    static_cast<void>(ranks->ask_all({{"do", "link"}, {"addresses", std::move(addresses)}}));
    return std::make_unique<RankGroup>(std::move(ranks), info_in(opened.front()), request.gpus);
}

}  // namespace ridge::measure
