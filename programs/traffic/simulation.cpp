#include "programs/traffic/simulation.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <string>
#include <tuple>

#include "hardware/error.h"
#include "hardware/si.h"
#include "programs/traffic/page_cache.h"

namespace ridge::programs {
namespace {

/// A request that was admitted, or waits to be again.
struct Sequence {
    std::size_t index = 0;
    std::int64_t computed = 0;  ///< tokens in the cache
    std::int64_t given = 0;     ///< tokens of the answer
    std::int64_t reached = 0;   ///< most tokens that were ever in the cache
    std::int64_t pages = 0;     ///< of its own
    std::int64_t shared = 0;    ///< of its group's prefix
    std::int64_t group = -1;    ///< that it holds
    std::int64_t last_token_ns = 0;
    std::int64_t chunk = 0;  ///< tokens in this step
    bool gone = false;       ///< preempted or finished in this step
};

struct Waiting {
    std::int64_t priority = 0;
    std::int64_t arrival_ns = 0;
    Sequence sequence{};
    friend bool operator<(const Waiting& a, const Waiting& b) {  // the largest comes first
        return std::tie(a.priority, a.arrival_ns, a.sequence.index) >
               std::tie(b.priority, b.arrival_ns, b.sequence.index);
    }
};

/// Means over stretches of time, which double in length when there are too many.
class Timeline {
  public:
    void add(std::int64_t from, std::int64_t to, const TrafficSample& state) {
        if (samples_.empty() || samples_.back().to_ns - samples_.back().from_ns >= width_) {
            if (samples_.size() == most) halve();
            samples_.push_back({.from_ns = from, .to_ns = from});
        }
        join(samples_.back(), {.from_ns = from,
                               .to_ns = to,
                               .running = state.running,
                               .waiting = state.waiting,
                               .cache = state.cache,
                               .tokens = state.tokens});
    }
    [[nodiscard]] std::vector<TrafficSample> take() { return std::move(samples_); }

  private:
    static void join(TrafficSample& a, const TrafficSample& b) {
        const auto first = static_cast<double>(a.to_ns - a.from_ns);
        const auto second = static_cast<double>(b.to_ns - b.from_ns);
        const double share = second > 0.0 ? second / (first + second) : 0.0;
        for (double TrafficSample::*each : {&TrafficSample::running, &TrafficSample::waiting,
                                            &TrafficSample::cache, &TrafficSample::tokens}) {
            a.*each += share * (b.*each - a.*each);
        }
        a.to_ns = b.to_ns;
    }
    void halve() {
        for (std::size_t i = 0; 2 * i + 1 < samples_.size(); ++i) {
            TrafficSample both = samples_[2 * i];
            join(both, samples_[2 * i + 1]);
            samples_[i] = both;
        }
        samples_.resize(most / 2);
        width_ *= 2;
    }

    static constexpr std::size_t most = 512;
    std::vector<TrafficSample> samples_;
    std::int64_t width_ = 1'000'000;
};

class Server {
  public:
    Server(const std::vector<TrafficRequest>& requests, const TrafficOptions& options,
           StepTimes& times)
        : requests_(requests),
          options_(options),
          times_(times),
          deployment_(times.parts().deployment()),
          cache_(options.tokens / deployment_.block, deployment_.block, deployment_.prefix_cache),
          random_(options.seed) {
        run_.requests.resize(requests.size());
        run_.pages = cache_.pages();
    }

    TrafficRun run();

  private:
    void arrive();
    void arrive(std::size_t index, std::int64_t at);
    [[nodiscard]] bool schedule(Sequence& sequence);
    [[nodiscard]] bool make_room(const Sequence& sequence, std::int64_t pages);
    void schedule_running();
    void admit();
    [[nodiscard]] bool admit_next();
    void preempt(Sequence& sequence);
    void compact();
    [[nodiscard]] std::int64_t wall_ns();
    void apply(std::int64_t from);
    void advance(Sequence& sequence, std::int64_t from);
    void give(Sequence& sequence, std::int64_t tokens, std::int64_t from);
    void finish(Sequence& sequence);
    void release(Sequence& sequence);
    [[nodiscard]] std::int64_t needed(const Sequence& s) const {
        return requests_[s.index].prompt + s.given - s.computed;
    }
    [[nodiscard]] std::int64_t wanted(const Sequence& s) const {
        return decodes(s) ? 1 + deployment_.speculation.tokens : needed(s);
    }
    [[nodiscard]] std::int64_t budget() const { return deployment_.chunk * deployment_.pipeline; }
    [[nodiscard]] bool decodes(const Sequence& s) const { return s.given > 0 && needed(s) == 1; }

    const std::vector<TrafficRequest>& requests_;
    TrafficOptions options_;
    StepTimes& times_;
    const Deployment& deployment_;
    PageCache cache_;
    Random random_;
    TrafficRun run_;
    Timeline timeline_;
    std::vector<Sequence> running_;
    std::priority_queue<Waiting> waiting_;
    StepBatch batch_;
    std::int64_t now_ = 0;
    std::int64_t budget_ = 0;
    std::int64_t given_ = 0;  ///< tokens in this step
    std::size_t next_ = 0;    ///< request that has not arrived
    std::size_t done_ = 0;
    bool preempted_ = false;
};

void Server::arrive(std::size_t index, std::int64_t at) {
    const TrafficRequest& request = requests_[index];
    RequestOutcome& outcome = run_.requests[index];
    outcome = {.arrival_ns = at, .started_ns = -1, .prompt = request.prompt};
    const std::int64_t most = request.prompt + request.answer + deployment_.speculation.tokens;
    if (cache_.pages_for(most) > cache_.pages()) {
        outcome.first_token_ns = -1;
        outcome.started_ns = at;
        outcome.finished_ns = at;
        ++done_;
        return;
    }
    Sequence sequence{.index = index};
    if (options_.prompts_ready) {
        sequence.given = 1;
        sequence.last_token_ns = at;
        outcome.first_token_ns = at;
        outcome.started_ns = at;
        outcome.answer = 1;
        ++run_.sums.answer_tokens;
        if (request.answer == 1) {
            outcome.finished_ns = at;
            ++done_;
            return;
        }
    }
    waiting_.push({.priority = request.priority, .arrival_ns = at, .sequence = sequence});
}

void Server::arrive() {
    if (options_.concurrency > 0) {
        while (next_ < requests_.size() &&
               next_ - done_ < static_cast<std::size_t>(options_.concurrency)) {
            arrive(next_++, now_);
        }
        return;
    }
    while (next_ < requests_.size() && requests_[next_].arrival_ns <= now_) {
        arrive(next_, requests_[next_].arrival_ns);
        ++next_;
    }
}

void Server::release(Sequence& sequence) {
    run_.sums.pages_given += sequence.pages;
    cache_.give(sequence.pages);
    cache_.release(sequence.group, now_);
    sequence.pages = 0;
    sequence.shared = 0;
    sequence.group = -1;
}

void Server::preempt(Sequence& sequence) {
    release(sequence);
    budget_ += sequence.chunk;
    preempted_ = true;
    ++run_.sums.preemptions;
    ++run_.requests[sequence.index].preemptions;
    Sequence again = sequence;
    again.computed = 0;
    again.chunk = 0;
    sequence.gone = true;
    sequence.chunk = 0;
    waiting_.push({.priority = requests_[again.index].priority,
                   .arrival_ns = run_.requests[again.index].arrival_ns,
                   .sequence = again});
}

/// Pages for a running sequence; others give up theirs. False: it gave up its own.
bool Server::make_room(const Sequence& sequence, std::int64_t pages) {
    while (!cache_.take(pages)) {
        cache_.trim(sequence.group, sequence.shared);
        if (cache_.take(pages)) return true;
        Sequence* last = nullptr;
        const auto rank = [this](const Sequence& s) {
            return std::make_tuple(requests_[s.index].priority, run_.requests[s.index].arrival_ns,
                                   s.index);
        };
        for (Sequence& each : running_) {
            if (!each.gone && (last == nullptr || rank(each) > rank(*last))) last = &each;
        }
        RIDGE_CONTRACT(last != nullptr);
        const bool itself = last->index == sequence.index;
        preempt(*last);
        if (itself) return false;
    }
    return true;
}

/// Gives the sequence tokens of this step. False: no tokens are left, or it lost its place.
bool Server::schedule(Sequence& sequence) {
    const std::int64_t chunk = std::min(wanted(sequence), budget_);
    if (chunk <= 0 || (decodes(sequence) && chunk < wanted(sequence))) return false;
    const std::int64_t more =
        cache_.pages_for(sequence.computed + chunk) - sequence.shared - sequence.pages;
    if (more > 0) {
        if (!make_room(sequence, more)) return false;
        sequence.pages += more;
        run_.sums.pages_taken += more;
    }
    sequence.chunk = chunk;
    budget_ -= chunk;
    return true;
}

void Server::schedule_running() {
    for (Sequence& sequence : running_) {
        if (sequence.gone) continue;
        if (!schedule(sequence) && budget_ <= 0) return;
    }
}

/// Admits the first waiting request. False: it must wait.
bool Server::admit_next() {
    Sequence sequence = waiting_.top().sequence;
    const TrafficRequest& request = requests_[sequence.index];
    RequestOutcome& outcome = run_.requests[sequence.index];
    const bool ready = options_.prompts_ready && outcome.preemptions == 0;
    const std::int64_t found =
        ready ? 0 : cache_.find(request.group, std::min(request.prefix, request.prompt - 1));
    sequence.computed = ready ? request.prompt : found;
    sequence.reached = std::max(sequence.reached, sequence.computed);
    const std::int64_t chunk = std::min(wanted(sequence), budget_);
    const bool cut = chunk < wanted(sequence);
    if (cut && decodes(sequence)) return false;
    // An engine that does not cut prompts runs one that is too long for a step alone.
    if (cut && !deployment_.chunked && budget_ < budget()) return false;
    if (request.group >= 0 && deployment_.prefix_cache) {
        sequence.group = request.group;
        cache_.hold(sequence.group);
    }
    sequence.shared = found / deployment_.block;
    const std::int64_t pages = cache_.pages_for(sequence.computed + chunk) - sequence.shared;
    if (!cache_.take(pages)) {
        cache_.release(sequence.group, now_);
        return false;
    }
    waiting_.pop();
    sequence.pages = pages;
    sequence.chunk = chunk;
    budget_ -= chunk;
    run_.sums.pages_taken += pages;
    run_.sums.cached_tokens += found;
    if (outcome.started_ns < 0) {
        outcome.started_ns = now_;
        outcome.cached = found;
    }
    running_.push_back(sequence);
    return true;
}

void Server::admit() {
    if (preempted_) return;
    while (budget_ > 0 && !waiting_.empty() &&
           static_cast<std::int64_t>(running_.size()) < deployment_.sequences * deployment_.data) {
        if (!admit_next()) return;
    }
}

void Server::compact() {
    running_.erase(
        std::remove_if(running_.begin(), running_.end(), [](const Sequence& s) { return s.gone; }),
        running_.end());
}

std::int64_t Server::wall_ns() {
    batch_.decodes = 0;
    batch_.context = 0;
    batch_.prompts.clear();
    for (const Sequence& s : running_) {
        if (s.chunk == 0) continue;
        if (decodes(s)) {
            ++batch_.decodes;
            batch_.context += s.computed;
        } else {
            batch_.prompts.push_back(
                {.tokens = s.chunk, .cached = s.computed, .last = s.chunk == needed(s)});
        }
    }
    RIDGE_CONTRACT(batch_.decodes > 0 || !batch_.prompts.empty());
    const double wall = times_.wall(batch_).base();
    RIDGE_CONTRACT(wall >= 0.0 && wall < si::giga);
    return std::max<std::int64_t>(1, std::llround(wall / si::nanosecond));
}

void Server::finish(Sequence& sequence) {
    run_.requests[sequence.index].finished_ns = now_;
    release(sequence);
    sequence.gone = true;
    ++done_;
}

/// `tokens` of the answer leave at `now_`; the step began at `from`.
void Server::give(Sequence& sequence, std::int64_t tokens, std::int64_t from) {
    RequestOutcome& outcome = run_.requests[sequence.index];
    if (sequence.given == 0) {
        outcome.first_token_ns = now_;
    } else if (sequence.index >= static_cast<std::size_t>(options_.skip)) {
        const std::int64_t gap = now_ - sequence.last_token_ns;
        if (gap == now_ - from && tokens == 1) {
            ++given_;  // counted together
        } else {
            run_.gaps.add(static_cast<double>(gap) * si::nanosecond / static_cast<double>(tokens),
                          tokens);
        }
    }
    sequence.given += tokens;
    sequence.last_token_ns = now_;
    outcome.answer += tokens;
    run_.sums.answer_tokens += tokens;
    if (sequence.given == requests_[sequence.index].answer) {
        finish(sequence);
    }
}

void Server::advance(Sequence& sequence, std::int64_t from) {
    const TrafficRequest& request = requests_[sequence.index];
    if (decodes(sequence)) {
        const std::int64_t drafted = deployment_.speculation.tokens;
        std::int64_t accepted = 0;
        while (accepted < drafted && random_.uniform() < deployment_.speculation.acceptance) {
            ++accepted;
        }
        run_.sums.drafted_tokens += drafted;
        accepted = std::min(accepted, request.answer - sequence.given - 1);
        run_.sums.accepted_tokens += accepted;
        sequence.computed += 1 + accepted;
        sequence.reached = std::max(sequence.reached, sequence.computed);
        return give(sequence, 1 + accepted, from);
    }
    const bool last = sequence.chunk == needed(sequence);
    run_.sums.prompt_tokens += sequence.chunk;
    run_.sums.repeated_tokens += std::max<std::int64_t>(
        0, std::min(sequence.reached, sequence.computed + sequence.chunk) - sequence.computed);
    sequence.computed += sequence.chunk;
    sequence.reached = std::max(sequence.reached, sequence.computed);
    if (!last) return;
    const std::int64_t more = cache_.keep(sequence.group, request.prefix / deployment_.block);
    RIDGE_CONTRACT(more <= sequence.pages);
    sequence.pages -= more;
    sequence.shared += more;
    run_.sums.pages_kept += more;
    give(sequence, 1, from);
}

void Server::apply(std::int64_t from) {
    given_ = 0;
    const std::int64_t before = run_.sums.answer_tokens;
    const auto running = static_cast<double>(running_.size());
    for (Sequence& sequence : running_) {
        if (sequence.chunk == 0) continue;
        advance(sequence, from);
        sequence.chunk = 0;
    }
    const std::int64_t length = now_ - from;
    run_.gaps.add(static_cast<double>(length) * si::nanosecond, given_);
    ++run_.sums.steps;
    if (batch_.decodes > 0 && !batch_.prompts.empty()) ++run_.sums.mixed_steps;
    run_.sums.busy_ns += length;
    run_.sums.most_pages = std::max(run_.sums.most_pages, cache_.used());
    timeline_.add(from, now_,
                  {.running = running,
                   .waiting = static_cast<double>(waiting_.size()),
                   .cache = cache_.pages() == 0 ? 0.0
                                                : static_cast<double>(cache_.used()) /
                                                      static_cast<double>(cache_.pages()),
                   .tokens = static_cast<double>(run_.sums.answer_tokens - before) /
                             (static_cast<double>(length) * si::nanosecond)});
    compact();
}

TrafficRun Server::run() {
    while (done_ < requests_.size()) {
        arrive();
        if (running_.empty() && waiting_.empty()) {
            if (next_ == requests_.size()) break;
            if (options_.concurrency > 0) continue;
            const std::int64_t until = requests_[next_].arrival_ns;
            timeline_.add(now_, until, {});
            run_.sums.idle_ns += until - now_;
            now_ = until;
            continue;
        }
        budget_ = budget();
        preempted_ = false;
        schedule_running();
        compact();
        admit();
        const std::int64_t from = now_;
        now_ += wall_ns();
        apply(from);
    }
    run_.sums.end_ns = now_;
    run_.timeline = timeline_.take();
    return std::move(run_);
}

}  // namespace

TrafficRun simulate(const std::vector<TrafficRequest>& requests, const TrafficOptions& options,
                    StepTimes& times) {
    if (options.tokens < times.parts().deployment().block) {
        throw InputError("the model leaves no room for a cache");
    }
    return Server(requests, options, times).run();
}

std::string violation(const TrafficRun& run, const std::vector<TrafficRequest>& requests) {
    std::int64_t answers = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const RequestOutcome& outcome = run.requests[i];
        if (outcome.refused()) continue;
        answers += outcome.answer;
        if (outcome.answer != requests[i].answer) return "tokens of an answer";
        if (outcome.started_ns < outcome.arrival_ns) return "a start before the arrival";
        if (outcome.first_token_ns < outcome.started_ns) return "a token before the start";
        if (outcome.finished_ns < outcome.first_token_ns) return "an end before the first token";
    }
    const TrafficSums& sums = run.sums;
    if (answers != sums.answer_tokens) return "tokens given out";
    if (sums.pages_taken != sums.pages_given + sums.pages_kept) return "pages of the cache";
    if (sums.most_pages > run.pages) return "more pages than there are";
    if (sums.busy_ns + sums.idle_ns != sums.end_ns) return "time";
    return {};
}

}  // namespace ridge::programs
