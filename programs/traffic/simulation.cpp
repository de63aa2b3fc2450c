#include "programs/traffic/simulation.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "hardware/error.h"
#include "hardware/si.h"
#include "programs/traffic/page_cache.h"
#include "programs/traffic/timeline.h"

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
    std::int64_t chunk = 0;       ///< tokens in this step
    std::int64_t kept_after = 0;  ///< pages of the prefix before those left at a preemption
    bool gone = false;            ///< preempted or finished in this step
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
    struct Found {
        std::int64_t prefix = 0;
        std::int64_t own = 0;
    };
    [[nodiscard]] Found find(const Sequence& sequence) const;
    [[nodiscard]] bool admit_next();
    void take_back(Sequence& sequence, std::int64_t wanted_pages);
    /// Of the pages that the sequence leaves in the cache, beside the groups of the requests.
    [[nodiscard]] static std::int64_t key_of(const Sequence& s) {
        constexpr std::int64_t beyond_groups = std::int64_t{1} << 62;
        return beyond_groups + static_cast<std::int64_t>(s.index);
    }
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
    TrafficTimeline timeline_;
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

/// Its full pages stay in the cache until others need them.
void Server::preempt(Sequence& sequence) {
    if (deployment_.prefix_cache) {
        const std::int64_t own = sequence.computed / deployment_.block - sequence.shared;
        const std::int64_t key = key_of(sequence);
        cache_.hold(key);
        const std::int64_t kept = cache_.keep(key, std::max<std::int64_t>(0, own));
        cache_.release(key, now_);
        sequence.pages -= kept;
        run_.sums.pages_kept += kept;
    }
    budget_ += sequence.chunk;
    preempted_ = true;
    ++run_.sums.preemptions;
    ++run_.requests[sequence.index].preemptions;
    Sequence again = sequence;
    again.kept_after = sequence.shared;
    release(sequence);
    again.pages = 0;
    again.shared = 0;
    again.group = -1;
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
        // The one admitted last, of those with the lowest priority.
        Sequence* last = nullptr;
        for (Sequence& each : running_) {
            if (each.gone) continue;
            const std::int64_t priority = requests_[each.index].priority;
            if (last == nullptr || priority >= requests_[last->index].priority) last = &each;
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

/// What the cache has of a waiting sequence: pages of its group's prefix, and its own.
Server::Found Server::find(const Sequence& sequence) const {
    const TrafficRequest& request = requests_[sequence.index];
    const std::int64_t block = deployment_.block;
    const std::int64_t prefix =
        cache_.find(request.group, std::min(request.prefix, request.prompt - 1)) / block;
    const std::int64_t last = (request.prompt + sequence.given - 1) / block;
    const std::int64_t own = cache_.find(key_of(sequence), last * block) / block;
    if (own > 0 && prefix >= sequence.kept_after) {
        return {.prefix = sequence.kept_after, .own = std::min(own, last - sequence.kept_after)};
    }
    return {.prefix = prefix};
}

/// Admits the first waiting request. False: it must wait.
bool Server::admit_next() {
    Sequence sequence = waiting_.top().sequence;
    const TrafficRequest& request = requests_[sequence.index];
    RequestOutcome& outcome = run_.requests[sequence.index];
    const bool ready = options_.prompts_ready && outcome.preemptions == 0;
    const Found found = ready ? Found{} : find(sequence);
    const std::int64_t cached = (found.prefix + found.own) * deployment_.block;
    sequence.computed = ready ? request.prompt : cached;
    sequence.reached = std::max(sequence.reached, sequence.computed);
    const std::int64_t chunk = std::min(wanted(sequence), budget_);
    const bool cut = chunk < wanted(sequence);
    if (cut && decodes(sequence)) return false;
    // An engine that does not cut prompts runs one that is too long for a step alone.
    if (cut && !deployment_.chunked && budget_ < budget()) return false;
    const std::int64_t key = key_of(sequence);
    if (deployment_.prefix_cache) {
        sequence.group = request.group;
        cache_.hold(sequence.group);
        if (found.own > 0) cache_.hold(key);
    }
    sequence.shared = found.prefix;
    const std::int64_t more =
        cache_.pages_for(sequence.computed + chunk) - found.prefix - found.own;
    const bool room = cache_.take(more);
    if (found.own > 0) cache_.release(key, now_);
    if (!room) {
        cache_.release(sequence.group, now_);
        return false;
    }
    take_back(sequence, found.own);
    waiting_.pop();
    sequence.pages += more;
    sequence.chunk = chunk;
    budget_ -= chunk;
    run_.sums.pages_taken += more;
    run_.sums.cached_tokens += cached;
    if (outcome.started_ns < 0) {
        outcome.started_ns = now_;
        outcome.cached = cached;
    }
    running_.push_back(sequence);
    return true;
}

/// The pages that a preempted sequence left behind; what it cannot use is given up.
void Server::take_back(Sequence& sequence, std::int64_t wanted_pages) {
    const std::int64_t all = cache_.reclaim(key_of(sequence));
    run_.sums.pages_kept -= all;
    const std::int64_t unused = all - wanted_pages;
    cache_.give(unused);
    run_.sums.pages_given += unused;
    sequence.pages += wanted_pages;
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

}  // namespace ridge::programs
