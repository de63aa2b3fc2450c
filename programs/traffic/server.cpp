// The steps of a server, event by event (server.h).
#include "programs/traffic/server.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hardware/error.h"

namespace ridge::programs {

void Server::arrive(std::size_t index, std::int64_t at) {
    const TrafficRequest& request = requests_[index];
    RequestOutcome& outcome = run_.requests[index];
    outcome = {.arrival_ns = at, .started_ns = -1, .prompt = request.prompt};
    const std::int64_t most = request.prompt + request.answer + drafted_;
    const bool too_long =
        options_.longest > 0 && request.prompt + request.answer > options_.longest;
    if (too_long || cache_.pages_for(most) > cache_.pages()) {
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
            run_.sums.sent_tokens += request.prompt;
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

/// Gives the sequence tokens of this step. False: no tokens are left, or it lost its place.
bool Server::schedule(Sequence& sequence) {
    if (sequence.ready_ns > now_) return false;
    if (!may_encode(sequence)) return false;
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
    encode(sequence);
    return true;
}

/// Whether the step can encode the sequence's images, if it still has to.
bool Server::may_encode(const Sequence& sequence) const {
    const TrafficRequest& request = requests_[sequence.index];
    if (sequence.encoded || request.vision <= sequence.computed) return true;
    return request.vision <= image_budget_ || image_budget_ == budget();
}

void Server::encode(Sequence& sequence) {
    const TrafficRequest& request = requests_[sequence.index];
    if (sequence.encoded || request.vision <= sequence.computed) return;
    image_budget_ -= std::min(image_budget_, request.vision);
    sequence.encoded = true;
    batch_.encoded += request.vision;
    batch_.frames += std::max<std::int64_t>(1, request.images);
    run_.sums.encoded_tokens += request.vision;
}

void Server::schedule_running() {
    for (Sequence& sequence : running_) {
        if (sequence.gone) continue;
        if (!schedule(sequence) && budget_ <= 0) return;
    }
}

void Server::compact() {
    running_.erase(
        std::remove_if(running_.begin(), running_.end(), [](const Sequence& s) { return s.gone; }),
        running_.end());
}

std::int64_t Server::wall_ns() {
    batch_.adapters = adapters_.used();
    run_.sums.most_adapters = std::max(run_.sums.most_adapters, batch_.adapters);
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
    adapters_.leave(requests_[sequence.index].adapter);
    host_.drop(key_of(sequence));
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
        const Speculation& drafts = deployment_.speculation;
        std::int64_t accepted = 0;
        while (accepted < drafts.depth() && random_.uniform() < drafts.accepted(accepted)) {
            ++accepted;
        }
        run_.sums.drafted_tokens += drafted_;
        accepted = std::min(accepted, request.answer - sequence.given - 1);
        run_.sums.accepted_tokens += accepted;
        sequence.computed += 1 + accepted;
        run_.sums.decoded_tokens += 1 + accepted;
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
    const std::int64_t prefix = request.prefix / deployment_.block;
    const std::int64_t more = cache_.keep(sequence.group, prefix);
    if (sequence.group >= 0) host_.store(sequence.group, prefix);
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

bool Server::any_scheduled() const {
    return std::any_of(running_.begin(), running_.end(),
                       [](const Sequence& each) { return each.chunk > 0; });
}

/// Until pages come from the host, or a request.
void Server::wait() {
    std::int64_t until = 0;
    for (const Sequence& each : running_) {
        if (until == 0 || each.ready_ns < until) until = each.ready_ns;
    }
    if (options_.concurrency == 0 && next_ < requests_.size()) {
        until = std::min(until, requests_[next_].arrival_ns);
    }
    RIDGE_CONTRACT(until > now_);
    timeline_.add(now_, until, {.waiting = static_cast<double>(waiting_.size())});
    run_.sums.idle_ns += until - now_;
    now_ = until;
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
        image_budget_ = budget_;
        batch_ = {};
        preempted_ = false;
        schedule_running();
        compact();
        admit();
        if (!any_scheduled()) {
            wait();
            continue;
        }
        const std::int64_t from = now_;
        now_ += wall_ns();
        apply(from);
    }
    run_.sums.end_ns = now_;
    run_.sums.host_stored = host_.stored();
    run_.sums.host_dropped = host_.dropped();
    run_.sums.host_left = host_.used();
    run_.timeline = timeline_.take();
    return std::move(run_);
}

}  // namespace ridge::programs
