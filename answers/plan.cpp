#include "answers/plan.h"

#include <algorithm>

#include "answers/candidate.h"
#include "answers/changes.h"
#include "hardware/error.h"
#include "hardware/units.h"

namespace ridge::answers {
namespace {

constexpr std::int64_t most_micro_batch = 64;

/// Whether `a` is the better answer: it fits; it has a time; it meets the targets; it makes more
/// tokens/s or, while none meets the targets, takes less time per token. Of two that do not fit,
/// the one that needs less memory.
bool better(const PlanRow& a, const PlanRow& b) {
    if (a.fits != b.fits) return a.fits;
    if (!a.fits) return a.memory.total() < b.memory.total();
    if (a.pace.has_value() != b.pace.has_value()) return a.pace.has_value();
    if (!a.pace) return a.memory.total() < b.memory.total();
    if (a.meets_targets != b.meets_targets) return a.meets_targets;
    if (!a.meets_targets) return a.pace->time < b.pace->time;
    return a.tokens_per_s > b.tokens_per_s;
}

/// Collects candidates and keeps the best. A layout whose weights and states alone are too large comes
/// later, if nothing else fits: of those, the one that needs least memory is wanted.
class Best {
  public:
    Best(std::int64_t& count, const std::function<void(std::int64_t)>& progress)
        : count_(count), progress_(progress) {}
    const PlanRow& consider(PlanRow row) { return consider(std::move(row), order_++); }
    void put_off(const PlanRow& row, std::int64_t least) {
        note();
        tried_.push_back(row);
        later_.push_back({.least = least, .order = order_++, .layout = row.layout});
    }
    /// Judges what was put off, by `row_of_layout`, if nothing fits.
    template <typename RowOfLayout>
    void judge_later(const RowOfLayout& row_of_layout) {
        if (best_ && best_->fits) return;
        std::stable_sort(later_.begin(), later_.end(),
                         [](const Later& a, const Later& b) { return a.least < b.least; });
        for (const Later& each : later_) {
            if (best_ && each.least > best_->memory.total()) break;
            keep(row_of_layout(each.layout), each.order);
        }
    }
    [[nodiscard]] bool any() const { return best_.has_value(); }
    [[nodiscard]] const std::vector<PlanRow>& tried() const { return tried_; }
    [[nodiscard]] PlanRow take() { return std::move(*best_); }

  private:
    struct Later {
        std::int64_t least = 0;
        std::size_t order = 0;
        Layout layout{};
    };

    const PlanRow& consider(PlanRow row, std::size_t order) {
        note();
        tried_.push_back(row);
        keep(std::move(row), order);
        return tried_.back();
    }
    void note() {
        ++count_;
        if (progress_) progress_(count_);
    }
    /// Of equals, the one that came first.
    void keep(PlanRow row, std::size_t order) {
        const bool replaces =
            !best_ || better(row, *best_) || (order < best_order_ && !better(*best_, row));
        if (!replaces) return;
        best_ = std::move(row);
        best_order_ = order;
    }

    std::int64_t& count_;
    const std::function<void(std::int64_t)>& progress_;
    std::optional<PlanRow> best_{};
    std::size_t best_order_ = 0;
    std::size_t order_ = 0;
    std::vector<PlanRow> tried_{};
    std::vector<Later> later_{};
};

/// Of layouts that differ in their ZeRO stage the highest comes first. A stage is not tried if a
/// higher one, which needs less memory, does not fit.
bool pointless(const Layout& layout, const std::vector<PlanRow>& tried) {
    return std::any_of(tried.begin(), tried.end(), [&](const PlanRow& row) {
        const Layout& other = row.layout;
        const bool alike = other.tensor_parallel == layout.tensor_parallel &&
                           other.pipeline == layout.pipeline &&
                           other.context_parallel == layout.context_parallel &&
                           other.checkpoint == layout.checkpoint && other.micro_batch == 1;
        return alike && other.zero > layout.zero && !row.fits;
    });
}

void search_serving(const programs::Architecture& architecture, const PlanQuestion& question,
                    const Place& place, const Layout& layout, Best& best) {
    const Serving serving(architecture, question, place, layout);
    if (const auto asked = sequences_of_copy(question, layout)) {
        best.consider(serving.row(*asked));
        return;
    }
    for (std::int64_t batch = 1; batch <= question.most; batch *= 2) {
        const PlanRow& row = best.consider(serving.row(batch));
        if (!row.fits || !row.pace || !row.meets_targets) return;
    }
}

/// A pipeline needs several micro-batches for each stage; four leave a fifth of its time idle at
/// most.
std::int64_t usual_accumulation(const Layout& layout) {
    return layout.pipeline > 1 ? 4 * layout.pipeline : 1;
}

void set_micro_batch(Layout& layout, std::int64_t micro, std::optional<std::int64_t> asked) {
    layout.micro_batch = micro;
    layout.accumulation = asked ? *asked / micro : usual_accumulation(layout);
}

using RowOf = PlanRow (*)(const programs::Architecture&, const PlanQuestion&, const Place&,
                          const Layout&);

RowOf row_of_training(const PlanQuestion& question) {
    return question.purpose == Purpose::train ? training_row : adapter_row;
}

/// Micro-batches double until one does not fit; the largest that fits is the fastest.
void search_training(const programs::Architecture& architecture, const PlanQuestion& question,
                     const Place& place, Layout layout, Best& best) {
    const auto asked = sequences_of_copy(question, layout);
    if (question.batch && !asked) return;
    const std::int64_t most = std::min(most_micro_batch, asked.value_or(most_micro_batch));
    for (std::int64_t micro = 1; micro <= most; micro *= 2) {
        if (asked && *asked % micro != 0) return;
        set_micro_batch(layout, micro, asked);
        if (micro == 1) {
            const std::int64_t least =
                question.reserve + least_memory(architecture, question, layout);
            if (least > place.usable) return best.put_off(row_of(place, layout), least);
        }
        const PlanRow& row =
            best.consider(row_of_training(question)(architecture, question, place, layout));
        if (!row.fits || !row.pace) return;
    }
}

void check(const programs::Architecture& architecture, const PlanQuestion& question) {
    const auto positive = [](const char* field, std::int64_t value, std::int64_t most) {
        if (value >= 1 && value <= most) return;
        throw InputError(std::string(field) + ": must be 1 to " + std::to_string(most));
    };
    positive("seq", question.seq, programs::most_length);
    positive("answer", question.answer, programs::most_length);
    positive("most", question.most, std::int64_t{65536});
    positive("rank", question.lora_rank, std::int64_t{65536});
    if (question.batch) positive("batch", *question.batch, programs::most_batch);
    for (const std::int64_t batch : question.batches) {
        positive("batch", batch, programs::most_batch);
    }
    for (const std::int64_t gpus : question.gpus) positive("gpus", gpus, 1024);
    if (question.reserve < 0) throw InputError("reserve: must not be negative");
    const bool serves = question.purpose == Purpose::serve;
    const std::int64_t tokens = question.seq + (serves ? question.answer : 0);
    const std::int64_t positions = architecture.value("positions");
    if (positions > 0 && tokens > positions) {
        throw InputError("seq: " + std::to_string(tokens) + " tokens are more than the " +
                         std::to_string(positions) + " positions of " + architecture.name);
    }
}

Use use_of(Purpose purpose) {
    if (purpose == Purpose::serve) return Use::serving;
    return purpose == Purpose::train ? Use::training : Use::adapters;
}

/// The questions with one type of weights and one batch each, and how they are told apart.
struct Variant {
    PlanQuestion question;
    std::string text{};
};

std::vector<Variant> variants_of(const PlanQuestion& question) {
    std::vector<Variant> variants{{.question = question}};
    if (question.quantisations.size() > 1) {
        variants.clear();
        for (const programs::Quantisation each : question.quantisations) {
            variants.push_back({.question = question, .text = std::string(name_of(each))});
            variants.back().question.quantisation = each;
        }
    }
    if (question.batches.size() < 2) return variants;
    std::vector<Variant> all;
    for (const Variant& before : variants) {
        for (const std::int64_t batch : question.batches) {
            all.push_back(before);
            all.back().question.batch = batch;
            all.back().text +=
                (before.text.empty() ? "" : ", ") + std::string("batch ") + std::to_string(batch);
        }
    }
    return all;
}

}  // namespace

Time usual_token_time() {
    return 50.0 * units::ms;
}

std::optional<double> PlanRow::per_million() const {
    if (!price_per_hour || tokens_per_s <= 0.0) return std::nullopt;
    return *price_per_hour / 3600.0 / tokens_per_s * 1e6;
}

PlanRow best_row(const programs::Architecture& architecture, const PlanQuestion& question,
                 const Place& place, std::int64_t gpus, std::int64_t& layouts) {
    Best best(layouts, question.progress);
    PlanRow none = row_of(place, {.copies = gpus});
    if (gpus > 1 && !place.machine->fabric) {
        none.reason = "links between several " + place.machine->name + " are not described";
        // Copies need no link to serve.
        if (question.purpose != Purpose::serve) return none;
    }
    const std::vector<Layout> layouts_to_try =
        layouts_of(architecture, gpus, use_of(question.purpose), question.layouts, question.seq);
    for (const Layout& layout : layouts_to_try) {
        if (layout.copies != gpus && !place.machine->fabric) continue;
        if (question.purpose == Purpose::serve) {
            search_serving(architecture, question, place, layout, best);
        } else if (!pointless(layout, best.tried())) {
            search_training(architecture, question, place, layout, best);
        }
        if (question.after_layout) question.after_layout();
    }
    best.judge_later([&](const Layout& layout) {
        return row_of_training(question)(architecture, question, place, layout);
    });
    if (best.any()) return best.take();
    if (none.reason.empty()) none.reason = "no layout that was allowed has this many GPUs";
    return none;
}

bool any_fits(const programs::Architecture& architecture, const PlanQuestion& question,
              const Place& place, std::int64_t gpus, std::int64_t& layouts) {
    if (question.purpose == Purpose::serve) {
        return best_row(architecture, question, place, gpus, layouts).fits;
    }
    if (gpus > 1 && !place.machine->fabric) return false;
    const RowOf need = question.purpose == Purpose::train ? training_need : adapter_need;
    std::vector<PlanRow> tried;
    for (Layout layout :
         layouts_of(architecture, gpus, use_of(question.purpose), question.layouts, question.seq)) {
        const auto asked = sequences_of_copy(question, layout);
        if ((question.batch && !asked) || pointless(layout, tried)) continue;
        ++layouts;
        // The smallest micro-batch needs least.
        set_micro_batch(layout, 1, asked);
        const bool small =
            question.reserve + least_memory(architecture, question, layout) <= place.usable;
        tried.push_back(small ? need(architecture, question, place, layout)
                              : row_of(place, layout));
        if (tried.back().fits) return true;
    }
    return false;
}

Plan plan(const programs::Architecture& architecture, const PlanQuestion& question,
          std::span<const Place> places) {
    check(architecture, question);
    if (places.empty()) throw InputError("gpu is missing", {}, "give --gpu NAME");
    Plan answer{.model = architecture.name,
                .parameters = parameters_of(architecture),
                .active_parameters = active_parameters_of(architecture),
                .question = question};
    std::size_t searched = 0;
    std::size_t all = 0;
    std::vector<Variant> variants = variants_of(question);
    for (const std::int64_t gpus : question.gpus) {
        all +=
            places.size() * variants.size() *
            layouts_of(architecture, gpus, use_of(question.purpose), question.layouts, question.seq)
                .size();
    }
    for (Variant& each : variants) {
        each.question.after_layout = [&question, &searched, all] {
            ++searched;
            if (!question.searched) return;
            question.searched(
                std::min(1.0, static_cast<double>(searched) /
                                  static_cast<double>(std::max<std::size_t>(1, all))));
        };
    }
    for (const Place& place : places) {
        for (const std::int64_t gpus : question.gpus) {
            for (const Variant& each : variants) {
                answer.rows.push_back(
                    best_row(architecture, each.question, place, gpus, answer.layouts));
                answer.rows.back().variant = each.text;
                answer.rows.back().quantisation = each.question.quantisation;
            }
        }
    }
    const auto small = std::find_if(answer.rows.begin(), answer.rows.end(), [](const PlanRow& row) {
        return !row.fits && row.memory.total() > 0;
    });
    if (small == answer.rows.end()) return answer;
    answer.changed = static_cast<std::size_t>(small - answer.rows.begin());
    const Place& place = places[*answer.changed / (question.gpus.size() * variants.size())];
    Variant& variant = variants[*answer.changed % variants.size()];
    variant.question.after_layout = {};
    if (question.searched) question.searched(1.0);
    const bool fits_on_more =
        std::any_of(answer.rows.begin(), answer.rows.end(), [&](const PlanRow& row) {
            return row.fits && row.gpu == small->gpu && row.variant == small->variant;
        });
    answer.changes =
        changes_that_fit(architecture, variant.question, place, small->gpus,
                         fits_on_more ? MoreGpus::refused : MoreGpus::allowed, answer.layouts);
    return answer;
}

const PlanRow* recommended(const Plan& plan) {
    const PlanRow* found = nullptr;
    const auto rank = [](const PlanRow& row) {
        return (row.fits ? 2 : 0) + (row.fits && row.pace && row.meets_targets ? 1 : 0);
    };
    const auto cheaper = [](const PlanRow& a, const PlanRow& b) {
        // Of several types of weights or batches, the fastest.
        if (a.gpu == b.gpu && a.gpus == b.gpus) return a.tokens_per_s > b.tokens_per_s;
        if (a.price_per_hour && b.price_per_hour) return *a.price_per_hour < *b.price_per_hour;
        return a.gpus < b.gpus;
    };
    for (const PlanRow& row : plan.rows) {
        if (!row.fits) continue;
        if (found == nullptr || rank(row) > rank(*found) ||
            (rank(row) == rank(*found) && cheaper(row, *found))) {
            found = &row;
        }
    }
    return found;
}

std::string_view name_of(Purpose purpose) {
    switch (purpose) {
        case Purpose::serve:
            return "serve";
        case Purpose::train:
            return "train";
        case Purpose::lora:
            return "lora";
        case Purpose::qlora:
            break;
    }
    return "qlora";
}

std::string_view name_of(Optimizer optimizer) {
    return optimizer == Optimizer::adamw ? "adamw" : "adamw8bit";
}

std::string_view name_of(GivesUp gives_up) {
    switch (gives_up) {
        case GivesUp::nothing:
            return "nothing";
        case GivesUp::speed:
            return "speed";
        case GivesUp::money:
            return "money";
        case GivesUp::accuracy:
            return "accuracy";
        case GivesUp::scope:
            break;
    }
    return "scope";
}

}  // namespace ridge::answers
