#include "plot/labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <random>
#include <utility>

namespace ridge::plot {

namespace {

constexpr double collision = 1000.0;     ///< cost that no reachable sum of preferences attains
constexpr double soft_collision = 25.0;  ///< while annealing, so that labels can pass each other
constexpr double breathing = 1.5;        ///< pixels kept free around a label
constexpr int most_passes = 12;

/// Candidates that collide with nothing fixed, with their costs.
struct Choice {
    std::size_t index = 0;
    double cost = 0.0;
};

bool far_apart(const Box& a, const Box& b) {
    return length(a.center - b.center) >
           a.half_width + a.half_height + b.half_width + b.half_height;
}

bool covers(const Box& a, const Box& b) {
    return !far_apart(a, b) && overlap(a, b);
}

bool is_free(const Box& box, const Obstacles& obstacles) {
    if (!inside(box, obstacles.frame)) return false;
    const Box roomy = grown(box, breathing);
    const auto hits_box = [&](const Box& other) { return covers(roomy, other); };
    const auto hits_line = [&](const Segment& line) { return overlap(roomy, line); };
    return std::none_of(obstacles.boxes.begin(), obstacles.boxes.end(), hits_box) &&
           std::none_of(obstacles.lines.begin(), obstacles.lines.end(), hits_line);
}

/// A leader may cross lines and pass over markers, but had better not.
double leader_cost(const Segment& leader, const Obstacles& obstacles) {
    double cost = 0.0;
    for (const Box& box : obstacles.boxes) cost += overlap(box, leader) ? 6.0 : 0.0;
    for (const Segment& line : obstacles.lines) cost += cross(line, leader) ? 2.5 : 0.0;
    return cost;
}

/// A label that stands next to a foreign marker reads as that marker's. Without a leader its own
/// marker is near too.
double ambiguity_cost(const LabelCandidate& candidate, const Obstacles& obstacles) {
    const Box surroundings = grown(candidate.box, 6.0);
    const auto near = std::ranges::count_if(
        obstacles.boxes, [&](const Box& marker) { return covers(surroundings, marker); });
    return 2.5 *
           static_cast<double>(std::max<std::ptrdiff_t>(0, near - (candidate.leader ? 0 : 1)));
}

std::vector<Choice> free_choices(const LabelRequest& request, const Obstacles& obstacles) {
    std::vector<Choice> out;
    for (std::size_t i = 0; i < request.candidates.size(); ++i) {
        const LabelCandidate& candidate = request.candidates[i];
        if (!is_free(candidate.box, obstacles)) continue;
        const double detour = candidate.leader ? leader_cost(*candidate.leader, obstacles) : 0.0;
        out.push_back(
            {.index = i, .cost = candidate.cost + detour + ambiguity_cost(candidate, obstacles)});
    }
    return out;
}

double pair_cost(const LabelCandidate& a, const LabelCandidate& b, double wall) {
    if (covers(grown(a.box, breathing), b.box)) return wall;
    double cost = 0.0;
    if (a.leader && overlap(b.box, *a.leader)) cost += wall;
    if (b.leader && overlap(a.box, *b.leader)) cost += wall;
    if (a.leader && b.leader && cross(*a.leader, *b.leader)) cost += 8.0;
    return cost;
}

class Placement {
  public:
    Placement(const std::vector<LabelRequest>& requests, const Obstacles& obstacles)
        : requests_(requests), chosen_(requests.size()) {
        choices_.reserve(requests.size());
        for (const LabelRequest& request : requests) {
            choices_.push_back(free_choices(request, obstacles));
        }
    }

    void solve() {
        const std::vector<std::size_t> order = constrained_first();
        for (const std::size_t label : order) choose(label);
        settle(order);
        wall_ = soft_collision;
        anneal();
        wall_ = collision;
        settle(order);
        drop_collisions(order);
    }

    [[nodiscard]] const std::vector<std::optional<std::size_t>>& chosen() const { return chosen_; }

  private:
    [[nodiscard]] std::vector<std::size_t> constrained_first() const {
        std::vector<std::size_t> order(requests_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
            if (requests_[a].weight != requests_[b].weight) {
                return requests_[a].weight > requests_[b].weight;
            }
            return choices_[a].size() < choices_[b].size();
        });
        return order;
    }

    /// Cost of a candidate among the labels that stand now; `enough` ends the sum early.
    [[nodiscard]] double cost_among(std::size_t label, const Choice& choice, double enough) const {
        const LabelCandidate& candidate = requests_[label].candidates[choice.index];
        double cost = choice.cost;
        for (std::size_t other = 0; other < chosen_.size() && cost < enough; ++other) {
            if (other == label || !chosen_[other]) continue;
            cost += pair_cost(candidate, requests_[other].candidates[*chosen_[other]], wall_);
        }
        return cost;
    }

    void settle(const std::vector<std::size_t>& order) {
        for (int pass = 0; pass < most_passes; ++pass) {
            bool changed = false;
            for (const std::size_t label : order) changed = choose(label) || changed;
            if (!changed) break;
        }
    }

    /// Costs of all labels and pairs; pairs count once.
    [[nodiscard]] double total_cost() const {
        double total = 0.0;
        for (std::size_t a = 0; a < chosen_.size(); ++a) {
            if (!chosen_[a]) continue;
            const auto choice = std::ranges::find(choices_[a], *chosen_[a], &Choice::index);
            total += choice->cost;
            for (std::size_t b = a + 1; b < chosen_.size(); ++b) {
                if (!chosen_[b]) continue;
                total += pair_cost(requests_[a].candidates[*chosen_[a]],
                                   requests_[b].candidates[*chosen_[b]], wall_);
            }
        }
        return total;
    }

    /// Random moves from a cooling walk; the best placement seen on the way is kept. The start
    /// temperature lets a label give up its favourite side, never accept a collision for long.
    void anneal() {
        std::vector<std::size_t> movable;
        for (std::size_t i = 0; i < choices_.size(); ++i) {
            if (choices_[i].size() > 1) movable.push_back(i);
        }
        if (movable.size() < 2) return;
        // NOLINTNEXTLINE(cert-msc32-c,cert-msc51-cpp): the same chart always gives the same picture
        std::minstd_rand random(20240229);
        const auto below = [&random](std::size_t n) {
            return static_cast<std::size_t>(random()) % n;
        };
        double total = total_cost();
        double best_total = total;
        std::vector<std::optional<std::size_t>> best_seen = chosen_;
        const std::size_t moves = std::min<std::size_t>(movable.size() * 1200, 40000);
        for (std::size_t move = 0; move < moves; ++move) {
            const double left = 1.0 - static_cast<double>(move) / static_cast<double>(moves);
            const double temperature = 6.0 * left * left + 0.02;
            const std::size_t label = movable[below(movable.size())];
            const std::vector<Choice>& choices = choices_[label];
            const Choice& next = choices[below(choices.size())];
            const auto standing = std::ranges::find(choices, *chosen_[label], &Choice::index);
            const double now = cost_among(label, *standing, HUGE_VAL);
            const double chance = static_cast<double>(random()) / std::minstd_rand::max();
            const double accepted = now - temperature * std::log(std::max(chance, 1e-12));
            const double then = cost_among(label, next, accepted);
            if (then >= accepted) continue;
            chosen_[label] = next.index;
            total += then - now;
            if (total < best_total - 1e-9) {
                best_total = total;
                best_seen = chosen_;
            }
        }
        chosen_ = best_seen;
    }

    struct Best {
        std::optional<std::size_t> index;
        double cost = HUGE_VAL;
    };

    [[nodiscard]] Best best(std::size_t label) const {
        Best out;
        for (const Choice& choice : choices_[label]) {
            const double cost = cost_among(label, choice, out.cost);
            if (cost < out.cost) out = {.index = choice.index, .cost = cost};
        }
        return out;
    }

    bool choose(std::size_t label) {
        const std::optional<std::size_t> now = best(label).index;
        const bool changed = now != chosen_[label];
        chosen_[label] = now;
        return changed;
    }

    /// Takes out what collides, lightest first, then gives each removed label one more chance.
    void drop_collisions(const std::vector<std::size_t>& order) {
        const std::vector<std::size_t> lightest_first(order.rbegin(), order.rend());
        for (const std::size_t label : lightest_first) {
            if (!chosen_[label]) continue;
            const Choice standing = {.index = *chosen_[label], .cost = 0.0};
            if (cost_among(label, standing, HUGE_VAL) >= collision) chosen_[label].reset();
        }
        for (const std::size_t label : order) {
            if (chosen_[label]) continue;
            const Best again = best(label);
            if (again.cost < collision) chosen_[label] = again.index;
        }
    }

    const std::vector<LabelRequest>& requests_;
    std::vector<std::vector<Choice>> choices_;
    std::vector<std::optional<std::size_t>> chosen_;
    double wall_ = collision;
};

Box upright(Vec2 center, double width, double height) {
    return {.center = center, .half_width = width / 2, .half_height = height / 2, .angle = 0.0};
}

LabelCandidate with_leader(const Box& box, Vec2 from, double start, double cost) {
    const Vec2 to = nearest_point(box, from);
    const double distance = length(to - from);
    const Vec2 begin = distance > start ? from + (start / distance) * (to - from) : from;
    return {.box = box, .leader = Segment{.from = begin, .to = to}, .cost = cost};
}

}  // namespace

std::vector<LabelCandidate> candidates_beside(Vec2 point, double radius, double width,
                                              double height) {
    struct Side {
        double x;
        double y;
        double cost;
    };
    constexpr std::array<Side, 8> sides = {{{1, 0, 0.0},
                                            {0.8, -0.8, 0.1},
                                            {0.8, 0.8, 0.2},
                                            {-1, 0, 0.3},
                                            {-0.8, -0.8, 0.4},
                                            {-0.8, 0.8, 0.5},
                                            {0, -1, 0.35},
                                            {0, 1, 0.55}}};
    std::vector<LabelCandidate> out;
    const double gap = radius + 3.5;
    for (const Side& side : sides) {
        const Vec2 center = {
            point.x + side.x * gap + (side.x == 0 ? 0 : std::copysign(width / 2, side.x)),
            point.y + side.y * gap + (side.y == 0 ? 0 : std::copysign(height / 2, side.y))};
        out.push_back({.box = upright(center, width, height), .leader = {}, .cost = side.cost});
    }
    constexpr std::array<double, 10> rings = {18, 28, 40, 54, 70, 90, 115, 145, 180, 220};
    constexpr int spokes = 16;
    for (const double ring : rings) {
        for (int spoke = 0; spoke < spokes; ++spoke) {
            const double angle = 2.0 * std::numbers::pi * (spoke + 0.5) / spokes;
            const Vec2 direction = {std::cos(angle), std::sin(angle)};
            const Vec2 center = {point.x + direction.x * (ring + width / 2),
                                 point.y + direction.y * (ring + height / 2)};
            out.push_back(with_leader(upright(center, width, height), point, radius * 1.5 + 1.0,
                                      1.5 + ring / 15.0));
        }
    }
    return out;
}

std::vector<LabelCandidate> candidates_along(const std::vector<Vec2>& line, double prefer,
                                             double line_width, double width, double height) {
    std::vector<LabelCandidate> out;
    double total = 0.0;
    for (std::size_t i = 1; i < line.size(); ++i) total += length(line[i] - line[i - 1]);
    double before = 0.0;
    for (std::size_t i = 1; i < line.size(); ++i) {
        const Vec2 step = line[i] - line[i - 1];
        const double span = length(step);
        const double margin = width / 2 + 4.0;
        if (span < 2 * margin) {
            before += span;
            continue;
        }
        double angle = std::atan2(step.y, step.x) * 180.0 / std::numbers::pi;
        if (angle > 90.0) angle -= 180.0;
        if (angle <= -90.0) angle += 180.0;
        const Vec2 along = (1.0 / span) * step;
        const Vec2 up = along.x >= 0 ? Vec2{along.y, -along.x} : Vec2{-along.y, along.x};
        constexpr int places = 25;
        for (int place = 0; place < places; ++place) {
            const double at = margin + (span - 2 * margin) * place / (places - 1.0);
            const Vec2 anchor = line[i - 1] + at * along;
            const double off_place = 3.0 * std::abs((before + at) / total - prefer);
            for (const double gap : {3.5, 18.0, 34.0}) {
                for (const double side : {1.0, -1.0}) {
                    const double distance = line_width / 2 + gap + height / 2;
                    const Box box = {.center = anchor + (side * distance) * up,
                                     .half_width = width / 2,
                                     .half_height = height / 2,
                                     .angle = angle};
                    const double cost = off_place + (side < 0 ? 0.8 : 0.0);
                    if (gap < 10.0) {
                        out.push_back({.box = box, .leader = {}, .cost = cost});
                    } else {
                        out.push_back(with_leader(box, anchor, 1.0, cost + 2.0 + gap / 10.0));
                    }
                }
            }
        }
        before += span;
    }
    return out;
}

std::vector<std::optional<std::size_t>> place_labels(const std::vector<LabelRequest>& requests,
                                                     const Obstacles& obstacles) {
    Placement placement(requests, obstacles);
    placement.solve();
    return placement.chosen();
}

}  // namespace ridge::plot
