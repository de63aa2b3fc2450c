#include "answers/deployments.h"

#include <algorithm>
#include <cmath>

#include "hardware/error.h"
#include "hardware/units.h"
#include "programs/configs/weights.h"

namespace ridge::answers {
namespace {

using programs::Deployment;
using programs::StepBatch;
using programs::StepTimes;

programs::SteadyLoad load_of(std::int64_t chunk, std::int64_t batch, const DeploymentQuestion& q) {
    return {.chunk = chunk,
            .batch = batch,
            .prompt = q.prompt,
            .answer = q.answer,
            .sharing = q.sharing};
}

/// What is shared by candidates that differ in copies, tokens of a step and batch.
struct Server {
    const Place* place = nullptr;
    const programs::Engine* engine = nullptr;
    Deployment deployment{};
    StepTimes times;
    std::int64_t usable = 0;
};

class Search {
  public:
    Search(const programs::Architecture& architecture, const DeploymentQuestion& question)
        : architecture_(architecture), question_(question) {}

    void run(const Place& place);
    [[nodiscard]] DeploymentSearch result() &&;

  private:
    [[nodiscard]] std::vector<Deployment> servers(const Place& place) const;
    void add_layouts(std::vector<Deployment>& all, const Place& place,
                     const Deployment& variant) const;
    void try_server(Server& server);
    [[nodiscard]] std::int64_t room(const Server& server, std::int64_t chunk,
                                    std::int64_t batch) const;
    void try_chunk(Server& server, const programs::SteadyLoad& load);
    void try_separate(Server& server, std::int64_t chunk, std::int64_t batch);
    void add(DeploymentRow row, const Server& server);

    const programs::Architecture& architecture_;
    const DeploymentQuestion& question_;
    std::vector<DeploymentRow> rows_;
    std::int64_t steps_ = 0;
};

/// Whether a deployment is possible, and asked for.
bool possible(const programs::Architecture& a, const Deployment& d) {
    try {
        validate(a, d);
    } catch (const InputError&) {
        return false;
    }
    return true;
}

bool listed(const std::vector<std::int64_t>& values, std::int64_t value) {
    return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

void Search::add_layouts(std::vector<Deployment>& all, const Place& place,
                         const Deployment& variant) const {
    const std::int64_t most = *std::max_element(question_.gpus.begin(), question_.gpus.end());
    const bool experts = architecture_.most("experts") > 0;
    for (const std::int64_t stages : question_.pipelines) {
        for (std::int64_t tp = 1; tp * stages <= most; tp *= 2) {
            if (tp * stages > 1 && !place.machine->fabric) continue;
            if (!listed(question_.layouts.tensor_parallel, tp)) continue;
            for (std::int64_t dp = 1; dp * tp * stages <= most; dp *= 2) {
                if (dp > 1 && (!experts || stages > 1)) break;
                Deployment d = variant;
                d.tensor = tp;
                d.data = dp;
                d.pipeline = stages;
                d.experts = experts && tp * dp > 1;
                if (!listed(question_.layouts.expert_parallel, d.experts ? tp * dp : 1)) {
                    continue;
                }
                if (possible(architecture_, d)) all.push_back(d);
            }
        }
    }
}

std::vector<Deployment> Search::servers(const Place& place) const {
    std::vector<Deployment> all;
    const programs::Quantisation as_stored =
        format_of(architecture_, programs::Quantisation::stored, model::size_of(question_.type))
            .quantisation;
    for (const programs::Quantisation quantisation : question_.quantisations) {
        // A checkpoint that has fewer bits already.
        const bool first = quantisation == question_.quantisations.front();
        if (!first && as_stored != programs::Quantisation::none) continue;
        for (Deployment variant : question_.variants) {
            variant.type = question_.type;
            variant.cache_type = question_.cache_type;
            variant.quantisation = quantisation;
            add_layouts(all, place, variant);
        }
    }
    return all;
}

void Search::add(DeploymentRow row, const Server& server) {
    row.gpu = server.place->machine->name;
    row.engine = server.engine->name;
    row.evidence = server.times.parts().evidence();
    if (server.place->price) {
        row.price_per_hour = *server.place->price * static_cast<double>(row.gpus());
    }
    row.requests_per_s = row.tokens_per_s / static_cast<double>(question_.answer);
    const programs::Targets& targets = question_.targets;
    row.meets = (!targets.ttft || row.ttft <= *targets.ttft) &&
                (!targets.tpot || row.tpot <= *targets.tpot) &&
                row.requests_per_s >= question_.rate;
    rows_.push_back(std::move(row));
}

void Search::try_chunk(Server& server, const programs::SteadyLoad& load) {
    const std::int64_t batch = load.batch;
    if (batch * (1 + server.deployment.speculation.tokens()) >= load.chunk) return;
    const programs::Steady s = steady_state(server.times, load);
    if (!s.keeps_up) return;
    for (const std::int64_t gpus : question_.gpus) {
        Deployment d = server.deployment;
        if (gpus % d.gpus_of_replica() != 0) continue;
        d.replicas = gpus / d.gpus_of_replica();
        if (!listed(question_.layouts.copies, d.replicas)) continue;
        d.chunk = load.chunk;
        d.sequences = batch;
        add({.deployment = d,
             .batch = batch,
             .ttft = s.first,
             .tpot = s.mean,
             .yield = s.yield,
             .cached = s.cached + s.fetched,
             .step = s.step,
             .step_host = s.step - server.times.gpu(decoding(load, server.deployment)),
             .prompts = s.prompts,
             .tokens_per_s = static_cast<double>(d.replicas * batch) / s.mean.in(units::s)},
            server);
    }
}

/// Some of the servers compute prompts, the others decode; the slower side sets the rate.
void Search::try_separate(Server& server, std::int64_t chunk, std::int64_t batch) {
    const StepBatch decode = decoding(load_of(chunk, batch, question_), server.deployment);
    const Time step = server.times.wall(decode);
    const double yield = server.deployment.speculation.tokens_per_step();
    const std::int64_t at_once = std::max(chunk, question_.prompt);
    const Time prompt = server.times.wall(programs::with_prompts({}, at_once, question_.prompt)) *
                        (static_cast<double>(question_.prompt) / static_cast<double>(at_once));
    const double answers = yield * static_cast<double>(batch) /
                           static_cast<double>(question_.answer) / step.in(units::s);
    // A server of prompts that is busy nine tenths of the time.
    constexpr double busy = 0.9;
    const double prompts = busy / prompt.in(units::s);
    for (const std::int64_t gpus : question_.gpus) {
        Deployment d = server.deployment;
        if (gpus % d.gpus_of_replica() != 0) continue;
        d.replicas = gpus / d.gpus_of_replica();
        if (d.replicas < 2 || !listed(question_.layouts.copies, d.replicas)) continue;
        const double wanted = static_cast<double>(d.replicas) * answers / (answers + prompts);
        const std::int64_t first =
            std::clamp<std::int64_t>(std::llround(wanted), 1, d.replicas - 1);
        const double rate = std::min(static_cast<double>(first) * prompts,
                                     static_cast<double>(d.replicas - first) * answers);
        const double load = rate / (static_cast<double>(first) * prompts) * busy;
        d.chunk = chunk;
        d.sequences = batch;
        add({.deployment = d,
             .batch = batch,
             .prompt_servers = first,
             // The wait of a queue with one server and fixed times (Pollaczek and Khinchine).
             .ttft = prompt * (1.0 + 0.5 * load / (1.0 - load)),
             .tpot = step / yield,
             .yield = yield,
             .step = step,
             .step_host = step - server.times.gpu(decode),
             .tokens_per_s = rate * static_cast<double>(question_.answer)},
            server);
    }
}

/// Tokens of cache of a server with such steps.
std::int64_t Search::room(const Server& server, std::int64_t chunk, std::int64_t batch) const {
    Deployment d = server.deployment;
    d.sequences = batch;
    d.chunk = chunk;
    return usable_tokens(architecture_, d, server.usable, question_.prompt + question_.answer);
}

void Search::try_server(Server& server) {
    const programs::Sharing& sharing = question_.sharing;
    const bool separate = question_.separate && sharing.prefix == 0 && sharing.adapters == 0;
    const double yield = server.deployment.speculation.tokens_per_step();
    const std::int64_t host =
        offloaded_tokens(architecture_, server.deployment, question_.prompt + question_.answer);
    for (std::int64_t batch = server.deployment.data; batch <= question_.most; batch *= 2) {
        const std::int64_t held = tokens_held(load_of(question_.chunks.front(), batch, question_));
        if (room(server, question_.chunks.front(), batch) < held) return;
        for (const std::int64_t chunk : question_.chunks) {
            programs::SteadyLoad load = load_of(chunk, batch, question_);
            load.room = {.tokens = room(server, chunk, batch), .host = host};
            if (load.room.tokens >= held) try_chunk(server, load);
        }
        if (separate) try_separate(server, question_.chunks.back(), batch);
        const auto& target = question_.targets.tpot;
        const StepBatch decode =
            decoding(load_of(question_.chunks.back(), batch, question_), server.deployment);
        if (target && server.times.wall(decode) / yield > *target) return;
    }
}

void Search::run(const Place& place) {
    for (const std::string& name : question_.engines) {
        const programs::Engine& engine = programs::find_engine(name);
        for (const Deployment& d : servers(place)) {
            Server server{
                .place = &place,
                .engine = &engine,
                .deployment = d,
                .times = StepTimes(programs::StepParts(architecture_, d, *place.machine, engine),
                                   engine),
                .usable = static_cast<std::int64_t>(engine.memory_share *
                                                    static_cast<double>(place.usable))};
            server.usable -= question_.reserve;
            if (!server.times.parts().left_out().empty()) continue;
            try_server(server);
            steps_ += server.times.predicted();
        }
    }
}

/// By how much a row misses the targets: the largest ratio.
double miss(const DeploymentRow& row, const DeploymentQuestion& q) {
    double most = 0.0;
    if (q.targets.ttft) most = row.ttft / *q.targets.ttft;
    if (q.targets.tpot) {
        const double ratio = row.tpot / *q.targets.tpot;
        most = std::max(most, ratio);
    }
    if (q.rate > 0.0) most = std::max(most, q.rate / std::max(row.requests_per_s, q.rate * 1e-6));
    return most;
}

/// Whether `a` is to be preferred: it meets the targets, with a rate the lower price (or fewer GPUs),
/// otherwise the lower cost of a token.
bool preferred(const DeploymentRow& a, const DeploymentRow& b, const DeploymentQuestion& q) {
    if (a.meets != b.meets) return a.meets;
    if (q.rate > 0.0) {
        const auto price = [](const DeploymentRow& row) {
            return row.price_per_hour.value_or(static_cast<double>(row.gpus()));
        };
        if (price(a) != price(b)) return price(a) < price(b);
    }
    if (a.cost() != b.cost()) return a.cost() < b.cost();
    return a.gpus() < b.gpus();
}

bool alike(const DeploymentRow& a, const DeploymentRow& b) {
    const Deployment& x = a.deployment;
    const Deployment& y = b.deployment;
    return a.gpu == b.gpu && a.engine == b.engine && x.tensor == y.tensor && x.data == y.data &&
           x.pipeline == y.pipeline && x.quantisation == y.quantisation &&
           x.speculation.draft == y.speculation.draft && x.drafter == y.drafter &&
           x.offload == y.offload && a.prompt_servers.has_value() == b.prompt_servers.has_value();
}

DeploymentSearch Search::result() && {
    DeploymentSearch found{.question = question_,
                           .candidates = static_cast<std::int64_t>(rows_.size()),
                           .steps = steps_};
    std::stable_sort(rows_.begin(), rows_.end(),
                     [&](const auto& a, const auto& b) { return preferred(a, b, question_); });
    for (const DeploymentRow& row : rows_) {
        if (!row.meets) break;
        if (!found.best) {
            found.best = row;
        } else if (!found.second && !alike(row, *found.best)) {
            found.second = row;
        }
    }
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const auto& a, const auto& b) { return a.cost() < b.cost(); });
    for (const DeploymentRow& row : rows_) {
        const bool late = question_.targets.ttft && row.ttft > *question_.targets.ttft;
        if (late || (!found.front.empty() && found.front.back().tpot <= row.tpot)) continue;
        found.front.push_back(row);
    }
    if (!found.best && !rows_.empty()) {
        found.nearest = *std::min_element(
            rows_.begin(), rows_.end(),
            [&](const auto& a, const auto& b) { return miss(a, question_) < miss(b, question_); });
    }
    if (found.best) {
        found.command = start_command(programs::find_engine(found.best->engine), architecture_.name,
                                      found.best->deployment);
    }
    return found;
}

}  // namespace

double DeploymentRow::cost() const {
    const double per_second =
        price_per_hour ? *price_per_hour / 3600.0 : static_cast<double>(gpus());
    return per_second / std::max(tokens_per_s, 1e-9) * 1e6;
}

DeploymentSearch search_deployments(const programs::Architecture& architecture,
                                    const DeploymentQuestion& question,
                                    std::span<const Place> places) {
    if (places.empty()) throw InputError("gpu is missing", {}, "give --gpu NAME");
    if (question.chunks.empty() || question.gpus.empty()) throw InputError("gpus: none to search");
    Search search(architecture, question);
    for (const Place& place : places) search.run(place);
    return std::move(search).result();
}

}  // namespace ridge::answers
