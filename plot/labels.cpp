#include "plot/labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <random>
#include <utility>

#include "hardware/algorithms.h"

namespace ridge::plot {

namespace {

constexpr double collision = 1000.0;     ///< cost that no possible sum of preferences reaches
constexpr double soft_collision = 25.0;  ///< during annealing, so that labels can pass each other
constexpr double breathing = 1.5;        ///< pixels kept free around a label
constexpr int most_passes = 12;

/// Candidates that collide with no fixed obstacle, with their costs.
struct Choice {
    std::size_t index = 0;
    double cost = 0.0;
};

bool far_apart(const Box& a, const Box& b) {
    const Vec2 apart = a.center - b.center;
    const double reach = a.half_width + a.half_height + b.half_width + b.half_height;
    return dot(apart, apart) > reach * reach;
}

bool covers(const Box& a, const Box& b) {
    return !far_apart(a, b) && overlap(a, b);
}

Rect bounds_of(const Box& box) {
    double w = box.half_width;
    double h = box.half_height;
    if (box.angle != 0.0) {
        const double radians = box.angle * std::numbers::pi / 180.0;
        const double c = std::abs(std::cos(radians));
        const double sine = std::abs(std::sin(radians));
        w = box.half_width * c + box.half_height * sine;
        h = box.half_width * sine + box.half_height * c;
    }
    return {.left = box.center.x - w,
            .top = box.center.y - h,
            .right = box.center.x + w,
            .bottom = box.center.y + h};
}

Rect bounds_of(const Segment& segment) {
    return {.left = std::min(segment.from.x, segment.to.x),
            .top = std::min(segment.from.y, segment.to.y),
            .right = std::max(segment.from.x, segment.to.x),
            .bottom = std::max(segment.from.y, segment.to.y)};
}

Rect united(const Rect& a, const Rect& b) {
    return {.left = std::min(a.left, b.left),
            .top = std::min(a.top, b.top),
            .right = std::max(a.right, b.right),
            .bottom = std::max(a.bottom, b.bottom)};
}

bool meet(const Rect& a, const Rect& b) {
    return a.left <= b.right && b.left <= a.right && a.top <= b.bottom && b.top <= a.bottom;
}

/// Finds the objects near a position, with square cells over the frame. Objects outside the frame
/// belong to the cells at its edge.
class Grid {
  public:
    explicit Grid(const Rect& frame)
        : frame_(frame),
          columns_(cells(frame.width())),
          rows_(cells(frame.height())),
          content_(columns_ * rows_) {}

    void add(const Rect& bounds) {
        each_cell(bounds, [this](std::vector<std::size_t>& cell) { cell.push_back(count_); });
        ++count_;
        seen_.push_back(0);
    }

    /// Calls `visit(index)` once for each object that shares a cell, until it returns false.
    template <class Visit>
    bool near(const Rect& bounds, const Visit& visit) {
        ++query_;
        bool go_on = true;
        each_cell(bounds, [&](const std::vector<std::size_t>& cell) {
            for (std::size_t i = 0; go_on && i < cell.size(); ++i) {
                if (std::exchange(seen_[cell[i]], query_) != query_) go_on = visit(cell[i]);
            }
        });
        return go_on;
    }

  private:
    static constexpr double side = 24.0;

    static std::size_t cells(double length) {
        return static_cast<std::size_t>(std::max(1.0, std::ceil(length / side)));
    }
    static std::size_t cell_at(double offset, std::size_t count) {
        return static_cast<std::size_t>(
            std::clamp(offset / side, 0.0, static_cast<double>(count - 1)));
    }

    template <class Visit>
    void each_cell(const Rect& bounds, const Visit& visit) {
        const std::size_t last_row = cell_at(bounds.bottom - frame_.top, rows_);
        const std::size_t last_column = cell_at(bounds.right - frame_.left, columns_);
        for (std::size_t row = cell_at(bounds.top - frame_.top, rows_); row <= last_row; ++row) {
            for (std::size_t column = cell_at(bounds.left - frame_.left, columns_);
                 column <= last_column; ++column) {
                visit(content_[row * columns_ + column]);
            }
        }
    }

    Rect frame_;
    std::size_t columns_;
    std::size_t rows_;
    std::vector<std::vector<std::size_t>> content_;
    std::size_t count_ = 0;
    std::vector<std::size_t> seen_;  ///< for each object, the number of the query that last met it
    std::size_t query_ = 0;
};

/// The obstacles with their grids.
class Terrain {
  public:
    explicit Terrain(const Obstacles& obstacles)
        : obstacles_(obstacles), boxes_(obstacles.frame), lines_(obstacles.frame) {
        for (const Box& box : obstacles.boxes) boxes_.add(bounds_of(box));
        for (const Segment& line : obstacles.lines) lines_.add(bounds_of(line));
    }

    [[nodiscard]] bool is_free(const Box& box) {
        if (!inside(box, obstacles_.frame)) return false;
        const Box roomy = grown(box, breathing);
        const Rect bounds = bounds_of(roomy);
        return boxes_.near(bounds, [&](std::size_t i) {
            return !covers(roomy, obstacles_.boxes[i]);
        }) && lines_.near(bounds, [&](std::size_t i) {
            return !overlap(roomy, obstacles_.lines[i]);
        });
    }

    /// A leader may cross lines and pass over markers, but at a cost.
    [[nodiscard]] double leader_cost(const Segment& leader) {
        double cost = 0.0;
        const Rect bounds = bounds_of(leader);
        boxes_.near(bounds, [&](std::size_t i) {
            cost += overlap(obstacles_.boxes[i], leader) ? 6.0 : 0.0;
            return true;
        });
        lines_.near(bounds, [&](std::size_t i) {
            cost += cross(obstacles_.lines[i], leader) ? 2.5 : 0.0;
            return true;
        });
        return cost;
    }

    /// A label next to another marker seems to belong to that marker. Without a leader, its own
    /// marker is near too.
    [[nodiscard]] double ambiguity_cost(const LabelCandidate& candidate) {
        const Box surroundings = grown(candidate.box, 6.0);
        std::ptrdiff_t near = 0;
        boxes_.near(bounds_of(surroundings), [&](std::size_t i) {
            near += covers(surroundings, obstacles_.boxes[i]) ? 1 : 0;
            return true;
        });
        return 2.5 *
               static_cast<double>(std::max<std::ptrdiff_t>(0, near - (candidate.leader ? 0 : 1)));
    }

    [[nodiscard]] std::vector<Choice> free_choices(const LabelRequest& request) {
        std::vector<Choice> out;
        for (std::size_t i = 0; i < request.candidates.size(); ++i) {
            const LabelCandidate& candidate = request.candidates[i];
            if (!is_free(candidate.box)) continue;
            const double detour = candidate.leader ? leader_cost(*candidate.leader) : 0.0;
            out.push_back(
                {.index = i, .cost = candidate.cost + detour + ambiguity_cost(candidate)});
        }
        return out;
    }

  private:
    const Obstacles& obstacles_;
    Grid boxes_;
    Grid lines_;
};

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
        Terrain terrain(obstacles);
        choices_.reserve(requests.size());
        for (const LabelRequest& request : requests) {
            choices_.push_back(terrain.free_choices(request));
        }
        find_neighbours();
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
    /// Finds labels whose candidates can come near each other.
    void find_neighbours() {
        std::vector<std::optional<Rect>> reach(requests_.size());
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            for (const Choice& choice : choices_[i]) {
                const LabelCandidate& candidate = requests_[i].candidates[choice.index];
                Rect bounds = bounds_of(grown(candidate.box, breathing));
                if (candidate.leader) bounds = united(bounds, bounds_of(*candidate.leader));
                reach[i] = reach[i] ? united(*reach[i], bounds) : bounds;
            }
        }
        neighbours_.resize(requests_.size());
        for (std::size_t a = 0; a < reach.size(); ++a) {
            for (std::size_t b = a + 1; b < reach.size(); ++b) {
                if (!reach[a] || !reach[b] || !meet(*reach[a], *reach[b])) continue;
                neighbours_[a].push_back(b);
                neighbours_[b].push_back(a);
            }
        }
    }

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

    /// Cost of a candidate among the labels that are now placed; the sum stops early above
    /// `enough`.
    [[nodiscard]] double cost_among(std::size_t label, const Choice& choice, double enough) const {
        const LabelCandidate& candidate = requests_[label].candidates[choice.index];
        double cost = choice.cost;
        for (const std::size_t other : neighbours_[label]) {
            if (cost >= enough) break;
            if (!chosen_[other]) continue;
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
            const auto choice = algorithms::find(choices_[a], *chosen_[a], &Choice::index);
            total += choice->cost;
            for (const std::size_t b : neighbours_[a]) {
                if (b < a || !chosen_[b]) continue;
                total += pair_cost(requests_[a].candidates[*chosen_[a]],
                                   requests_[b].candidates[*chosen_[b]], wall_);
            }
        }
        return total;
    }

    /// Random moves in a cooling walk; keeps the best placement seen. The start temperature lets a
    /// label give up its favourite side, but never accept a collision for long.
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
        // Many labels are numbers with a short reach, which the greedy choice already places well.
        const std::size_t most = movable.size() > 40 ? 6000 : 40000;
        const std::size_t moves = std::min(movable.size() * 1200, most);
        for (std::size_t move = 0; move < moves; ++move) {
            const double left = 1.0 - static_cast<double>(move) / static_cast<double>(moves);
            const double temperature = 6.0 * left * left + 0.02;
            const std::size_t label = movable[below(movable.size())];
            const std::vector<Choice>& choices = choices_[label];
            const Choice& next = choices[below(choices.size())];
            const auto standing = algorithms::find(choices, *chosen_[label], &Choice::index);
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

    /// Removes labels that collide, the lightest first, then gives each removed label one more
    /// chance.
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
    std::vector<std::vector<std::size_t>> neighbours_;
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
                                              double height, double reach) {
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
        if (ring > reach) break;
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
