#include "answers/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hardware/error.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "model/predict.h"
#include "programs/configs/weights.h"

namespace ridge::answers {
namespace {

using programs::Deployment;
using programs::RequestOutcome;
using programs::StepTimes;
using programs::TrafficOptions;
using programs::TrafficRequest;
using programs::TrafficRun;

using Requests = std::vector<TrafficRequest>;

std::vector<Requests> in_turn(const Requests& requests, std::int64_t servers) {
    std::vector<Requests> parts(static_cast<std::size_t>(servers));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        parts[i % parts.size()].push_back(requests[i]);
    }
    return parts;
}

/// Time to send the cache of a prompt to another server; its GPUs send at once.
Time transfer(const programs::Architecture& a, const Deployment& d, const Separate& separate,
              const model::Machine& machine, std::int64_t prompt) {
    const std::int64_t bytes = kv_cache_bytes(a, {.bytes = model::size_of(d.cache_type),
                                                  .batch = 1,
                                                  .tokens = prompt,
                                                  .tensor_parallel = d.tensor}) /
                               d.pipeline;
    if (separate.link) return static_cast<double>(bytes) * units::B / *separate.link;
    const model::Outcome sent = model::predict(
        model::Collective{.kind = model::CollectiveKind::send, .gpus = 2, .bytes = bytes}, {},
        machine);
    const auto* prediction = std::get_if<model::Prediction>(&sent);
    if (prediction != nullptr) return prediction->time;
    throw InputError("link: the link between the GPUs is not described", {}, "--link 50GB/s");
}

class Servers {
  public:
    Servers(const programs::Architecture& architecture, const TrafficQuestion& question,
            const Place& place, std::int64_t cache_tokens, std::int64_t host_tokens)
        : architecture_(architecture),
          question_(question),
          place_(place),
          cache_tokens_(cache_tokens),
          host_tokens_(host_tokens),
          times_(programs::StepParts(architecture, question.deployment, *place.machine,
                                     question.engine),
                 question.engine) {}

    [[nodiscard]] ServedLoad run(const Requests& requests, double rate, std::int64_t concurrency);
    [[nodiscard]] const programs::StepParts& parts() const { return times_.parts(); }

  private:
    [[nodiscard]] std::vector<TrafficRun> together(const Requests& requests,
                                                   std::int64_t concurrency);
    [[nodiscard]] std::vector<TrafficRun> apart(const Requests& requests);

    const programs::Architecture& architecture_;
    const TrafficQuestion& question_;
    const Place& place_;
    std::int64_t cache_tokens_;
    std::int64_t host_tokens_;
    StepTimes times_;
};

std::vector<TrafficRun> Servers::together(const Requests& requests, std::int64_t concurrency) {
    const std::int64_t servers = question_.deployment.replicas;
    const std::int64_t each = (concurrency + servers - 1) / servers;
    std::vector<TrafficRun> runs;
    for (const Requests& part : in_turn(requests, servers)) {
        runs.push_back(simulate(part,
                                {.tokens = cache_tokens_,
                                 .host_tokens = host_tokens_,
                                 .concurrency = each,
                                 .seed = question_.load.seed,
                                 .skip = each,
                                 .longest = architecture_.value("positions")},
                                times_));
    }
    return runs;
}

std::vector<TrafficRun> Servers::apart(const Requests& requests) {
    const Separate& separate = *question_.separate;
    Requests decoded;
    std::vector<RequestOutcome> first;
    for (Requests part : in_turn(requests, separate.prompts)) {
        Requests prompts = part;
        for (TrafficRequest& each : prompts) each.answer = 1;
        const TrafficRun run = simulate(prompts,
                                        {.tokens = cache_tokens_,
                                         .host_tokens = host_tokens_,
                                         .longest = architecture_.value("positions")},
                                        times_);
        for (std::size_t i = 0; i < part.size(); ++i) {
            if (run.requests[i].refused()) continue;
            const Time sent = transfer(architecture_, question_.deployment, separate,
                                       *place_.machine, part[i].prompt);
            TrafficRequest next = part[i];
            next.arrival_ns =
                run.requests[i].first_token_ns + std::llround(sent.in(units::s) / si::nanosecond);
            decoded.push_back(next);
            first.push_back(run.requests[i]);
        }
    }
    std::vector<std::size_t> order(decoded.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return decoded[a].arrival_ns < decoded[b].arrival_ns;
    });
    Requests sorted;
    for (const std::size_t i : order) sorted.push_back(decoded[i]);
    std::vector<TrafficRun> runs;
    std::size_t server = 0;
    for (const Requests& part : in_turn(sorted, separate.answers)) {
        TrafficRun run = simulate(part,
                                  {.tokens = cache_tokens_,
                                   .host_tokens = host_tokens_,
                                   .longest = architecture_.value("positions"),
                                   .prompts_ready = true},
                                  times_);
        // Users saw the first token before the cache was sent.
        for (std::size_t i = 0; i < part.size(); ++i) {
            const RequestOutcome& before =
                first[order[server + i * static_cast<std::size_t>(separate.answers)]];
            run.requests[i].arrival_ns = before.arrival_ns;
            run.requests[i].started_ns = before.started_ns;
            if (!run.requests[i].refused()) run.requests[i].first_token_ns = before.first_token_ns;
        }
        runs.push_back(std::move(run));
        ++server;
    }
    return runs;
}

ServedLoad Servers::run(const Requests& requests, double rate, std::int64_t concurrency) {
    ServedLoad load{.rate = rate, .concurrency = concurrency};
    load.runs = question_.separate ? apart(requests) : together(requests, concurrency);
    const std::int64_t servers = question_.deployment.replicas;
    load.summary = summarise(
        load.runs, {.targets = question_.targets, .skip = (concurrency + servers - 1) / servers});
    const std::int64_t batch = std::max<std::int64_t>(1, std::llround(load.summary.running));
    const programs::StepBatch step{
        .decodes = batch, .context = batch * std::llround(std::max(1.0, load.summary.context))};
    load.step = times_.wall(step);
    load.step_gpu = times_.gpu(step);
    return load;
}

void check(const TrafficQuestion& question) {
    const int kinds = (question.rates.empty() ? 0 : 1) + (question.concurrencies.empty() ? 0 : 1) +
                      (question.log.empty() ? 0 : 1);
    if (kinds != 1) {
        throw InputError("rate: one of --rate, --concurrency and --log says what the load is");
    }
    if (!question.separate) return;
    if (question.separate->prompts < 1 || question.separate->answers < 1) {
        throw InputError("separate: at least one server for prompts and one for answers");
    }
    if (!question.concurrencies.empty()) {
        throw InputError("concurrency: separate servers take a rate or a log");
    }
}

bool has_images(const TrafficQuestion& question) {
    return question.load.vision.has_value() ||
           std::any_of(question.log.begin(), question.log.end(),
                       [](const TrafficRequest& each) { return each.vision > 0; });
}

double mean_length(const TrafficQuestion& question) {
    if (question.log.empty()) {
        const double images = question.load.vision ? question.load.vision->mean() : 0.0;
        return question.load.prompt.mean() + images + question.load.answer.mean();
    }
    double sum = 0.0;
    for (const TrafficRequest& each : question.log) {
        sum += static_cast<double>(each.prompt + each.answer);
    }
    return sum / static_cast<double>(question.log.size());
}

std::string gibibytes(std::int64_t bytes) {
    return format_capacity(static_cast<double>(bytes) * units::B);
}

void find_most(TrafficAnswer& answer) {
    constexpr double most_requests = 0.9;
    if (!answer.question.targets.ttft && !answer.question.targets.tpot) return;
    for (std::size_t i = 0; i < answer.loads.size(); ++i) {
        const programs::TrafficSummary& s = answer.loads[i].summary;
        if (s.within < most_requests) continue;
        if (!answer.most_within || s.goodput > answer.loads[*answer.most_within].summary.goodput) {
            answer.most_within = i;
        }
    }
}

}  // namespace

TrafficAnswer serve_traffic(const programs::Architecture& architecture,
                            const TrafficQuestion& question, const Place& place) {
    check(question);
    const Deployment& d = question.deployment;
    TrafficAnswer answer{.model = architecture.name,
                         .gpu = place.machine->name,
                         .question = question,
                         .gpus = d.gpus()};
    if (question.separate) {
        answer.gpus =
            d.gpus_of_replica() * (question.separate->prompts + question.separate->answers);
    }
    validate(architecture, d);
    const std::int64_t positions = architecture.value("positions");
    if (positions > 0 && std::llround(mean_length(question)) > positions) {
        throw InputError(
            fmt::format("prompt: {} tokens with their answer are more than the {} "
                        "positions of {}",
                        std::llround(mean_length(question)), positions, architecture.name));
    }
    answer.weights_bytes = weights_of_gpu(architecture, d);
    const auto usable =
        static_cast<std::int64_t>(question.engine.memory_share * static_cast<double>(place.usable));
    const auto length = std::max<std::int64_t>(1, std::llround(mean_length(question)));
    answer.cache_tokens = usable_tokens(architecture, d, usable, length);
    if (answer.cache_tokens < d.block) {
        throw InputError(fmt::format("{} does not fit: {} of weights on each of {} GPUs with {}",
                                     architecture.name, gibibytes(answer.weights_bytes),
                                     d.gpus_of_replica(), gibibytes(usable)),
                         {}, "more GPUs with --tp, or fewer bits with --quantise");
    }
    answer.host_tokens = offloaded_tokens(architecture, d, length);
    if (d.offload > 0 && answer.host_tokens < d.block) {
        throw InputError("offload: " + gibibytes(d.offload) + " is less than a page");
    }
    if (d.offload > 0 && !d.prefix_cache) {
        throw InputError("offload: only what the cache of prefixes keeps is on the host");
    }
    Servers servers(architecture, question, place, answer.cache_tokens, answer.host_tokens);
    if (has_images(question) && !servers.parts().sees()) {
        throw InputError(
            "vision: " + architecture.name + " has no encoder, or its config does not say which",
            {}, "a config.json with vision_config");
    }
    if (!servers.parts().left_out().empty()) {
        throw InputError(place.machine->name + ": not modelled: " + servers.parts().left_out());
    }
    answer.evidence = servers.parts().evidence();
    const std::size_t all =
        question.rates.size() + question.concurrencies.size() + (question.log.empty() ? 0 : 1);
    const auto add = [&](ServedLoad load) {
        answer.loads.push_back(std::move(load));
        if (question.progress) question.progress(answer.loads.size(), all);
    };
    for (const double rate : question.rates) {
        programs::TrafficLoad load = question.load;
        load.rate = rate;
        add(servers.run(draw(load), rate, 0));
    }
    for (const std::int64_t concurrency : question.concurrencies) {
        programs::TrafficLoad load = question.load;
        load.concurrency = concurrency;
        // Enough requests for a steady state: all of them once, and nine times those that can run at a time.
        const std::int64_t at_once =
            std::min(concurrency, d.sequences * d.data * std::max<std::int64_t>(1, d.replicas));
        load.count = std::max(load.count, concurrency + std::int64_t{9} * at_once);
        add(servers.run(draw(load), 0.0, concurrency));
    }
    if (!question.log.empty()) add(servers.run(question.log, 0.0, 0));
    find_most(answer);
    return answer;
}

double token_rate(const ServedLoad& load) {
    const programs::TrafficSummary& s = load.summary;
    return load.concurrency > 0 && s.steady_tokens_per_s > 0.0 ? s.steady_tokens_per_s
                                                               : s.tokens_per_s;
}

std::string verdict_of(const TrafficAnswer& answer) {
    const programs::Targets& targets = answer.question.targets;
    const auto of = [](const ServedLoad& load) {
        return load.concurrency > 0 ? fmt::format("{} requests at a time", load.concurrency)
               : load.rate > 0.0    ? fmt::format("{} requests/s", format_number(load.rate, 4))
                                    : std::string("the log");
    };
    const auto described = [&](const ServedLoad& load) {
        const auto time = [](double seconds) { return format(seconds * units::s); };
        const programs::TrafficSummary& s = load.summary;
        if (s.ttft.count == 0) return of(load) + ": no request is answered";
        std::string text =
            fmt::format("{}: {} tokens/s, {} to the first token ({} at p99)", of(load),
                        format_number(token_rate(load), 4), time(s.ttft.p50), time(s.ttft.p99));
        if (s.tpot.count > 0) {
            text += fmt::format(", {} per token ({} at p99)", time(s.tpot.p50), time(s.tpot.p99));
        }
        return text;
    };
    if (answer.most_within) {
        const ServedLoad& load = answer.loads[*answer.most_within];
        return fmt::format("Within the targets up to {}; {} of 100 requests meet them.",
                           described(load), std::lround(100.0 * load.summary.within));
    }
    if (targets.ttft || targets.tpot) {
        const auto best = std::max_element(
            answer.loads.begin(), answer.loads.end(),
            [](const auto& a, const auto& b) { return a.summary.within < b.summary.within; });
        return fmt::format("No load meets the targets for 90 of 100 requests; best is {}, with {}.",
                           described(*best), std::lround(100.0 * best->summary.within));
    }
    return described(answer.loads.back()) + ".";
}

std::vector<std::string> remarks_on(const TrafficAnswer& answer) {
    std::vector<std::string> remarks;
    std::int64_t refused = 0;
    std::int64_t preemptions = 0;
    for (const ServedLoad& load : answer.loads) {
        refused += load.summary.refused;
        preemptions += load.summary.preemptions;
    }
    if (refused > 0) {
        remarks.push_back(fmt::format(
            "{} requests were refused: they never fit into the cache or the model's positions.",
            refused));
    }
    if (preemptions > 0) {
        remarks.push_back(fmt::format(
            "{} times a sequence gave up its pages and computed its tokens again: the cache of {} "
            "tokens is small for this load.",
            preemptions, answer.cache_tokens));
    }
    if (answer.host_tokens > 0) {
        remarks.push_back(fmt::format(
            "The host keeps {} tokens of cache besides; {} of 100 prompt tokens came from there.",
            answer.host_tokens, std::lround(100.0 * answer.loads.back().summary.fetched)));
    }
    if (const std::int64_t copied = answer.loads.back().summary.adapters_fetched; copied > 0) {
        remarks.push_back(fmt::format("{} times an adapter was copied to the GPUs.", copied));
    }
    remarks.push_back("Host times of " + answer.question.engine.name + ": " +
                      answer.question.engine.source + ".");
    remarks.emplace_back(
        "Latency is the server's: no network, no tokenizer queue. Requests go to servers in turn.");
    return remarks;
}

}  // namespace ridge::answers
