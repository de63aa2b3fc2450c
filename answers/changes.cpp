#include "answers/changes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

namespace ridge::answers {
namespace {

using programs::Quantisation;

constexpr std::size_t most_changes = 3;
constexpr std::int64_t most_gpus = 64;

/// A question that differs from the one that was asked, and in how many GPUs.
struct Changed {
    std::string what;
    GivesUp gives_up = GivesUp::nothing;
    PlanQuestion question;
    std::int64_t gpus = 1;
};

bool serves(const Changed& now) {
    return now.question.purpose == Purpose::serve;
}

/// Layouts that the question ruled out.
void add_layouts(const Changed& now, std::vector<Changed>& found) {
    const LayoutChoice& asked = now.question.layouts;
    const auto add = [&](const char* what, GivesUp gives_up, auto&& change) {
        Changed other{
            .what = what, .gives_up = gives_up, .question = now.question, .gpus = now.gpus};
        change(other.question.layouts);
        found.push_back(std::move(other));
    };
    if (!serves(now) && !asked.checkpoint.empty()) {
        add("checkpoints", GivesUp::speed, [](LayoutChoice& choice) { choice.checkpoint.clear(); });
    }
    if (now.question.purpose == Purpose::train && !asked.zero.empty() && now.gpus > 1) {
        add("ZeRO", GivesUp::speed, [](LayoutChoice& choice) { choice.zero.clear(); });
    }
    if (!asked.tensor_parallel.empty() && now.gpus > 1) {
        add("another tp", GivesUp::nothing,
            [](LayoutChoice& choice) { choice.tensor_parallel.clear(); });
    }
}

void add_training(const Changed& now, std::vector<Changed>& found) {
    const PlanQuestion& asked = now.question;
    if (asked.purpose == Purpose::train && asked.optimizer == Optimizer::adamw) {
        Changed other = now;
        other.what = "an 8-bit optimizer";
        other.gives_up = GivesUp::accuracy;
        other.question.optimizer = Optimizer::adamw8bit;
        found.push_back(std::move(other));
    }
    if (asked.purpose == Purpose::train && asked.mixed) {
        Changed other = now;
        other.what = "weights and states in bf16";
        other.gives_up = GivesUp::accuracy;
        other.question.mixed = false;
        found.push_back(std::move(other));
    }
    if (asked.purpose == Purpose::train) {
        Changed other = now;
        other.what = "LoRA: adapters of rank " + std::to_string(asked.lora_rank);
        other.gives_up = GivesUp::scope;
        other.question.purpose = Purpose::lora;
        other.question.mixed = false;
        found.push_back(std::move(other));
    }
    if (asked.purpose != Purpose::qlora) {
        Changed other = now;
        other.what = "QLoRA: adapters on 4-bit weights";
        other.gives_up = GivesUp::scope;
        other.question.purpose = Purpose::qlora;
        other.question.mixed = false;
        found.push_back(std::move(other));
    }
}

void add_types(const Changed& now, std::vector<Changed>& found) {
    constexpr std::array formats{Quantisation::fp8, Quantisation::int8, Quantisation::int4};
    const Quantisation asked = now.question.quantisation;
    if (asked == Quantisation::none || asked == Quantisation::stored) {
        for (const Quantisation format : formats) {
            Changed other = now;
            other.what = std::string(name_of(format)) + " weights";
            other.gives_up = GivesUp::accuracy;
            other.question.quantisation = format;
            found.push_back(std::move(other));
        }
    }
    if (now.question.cache_type == now.question.type && model::size_of(now.question.type) == 2) {
        Changed other = now;
        other.what = "an 8-bit cache";
        other.gives_up = GivesUp::accuracy;
        other.question.cache_type = model::DataType::fp8;
        found.push_back(std::move(other));
    }
}

/// Searches the changes of one question.
class Changes {
  public:
    Changes(const programs::Architecture& architecture, const Place& place, std::int64_t& layouts)
        : architecture_(architecture), place_(place), layouts_(layouts) {}

    [[nodiscard]] PlanRow answer(const Changed& changed) {
        return best_row(architecture_, changed.question, place_, changed.gpus, layouts_);
    }

    /// Whether it fits, which needs no search over batches.
    [[nodiscard]] bool fits(Changed changed) {
        if (!changed.question.batch) changed.question.most = 1;
        if (!serves(changed) && !changed.question.batch) {
            changed.question.batch = changed.gpus;  // one sequence each
        }
        return any_fits(architecture_, changed.question, place_, changed.gpus, layouts_);
    }

    /// More GPUs: the fewest that fit.
    void add_gpus(const Changed& now, std::vector<Changed>& found) {
        if (!place_.machine->fabric) return;
        const std::int64_t asked =
            *std::max_element(now.question.gpus.begin(), now.question.gpus.end());
        for (std::int64_t gpus = 2 * asked; gpus <= most_gpus; gpus *= 2) {
            Changed other = now;
            other.what = std::to_string(gpus) + " GPUs";
            other.gives_up = GivesUp::money;
            other.gpus = gpus;
            if (!fits(other)) continue;
            found.push_back(std::move(other));
            return;
        }
    }

    /// A smaller batch if one was asked for, and shorter sequences: the largest that fit.
    void add_sizes(const Changed& now, std::vector<Changed>& found) {
        if (now.question.batch && *now.question.batch > 1) {
            Changed other = now;
            const std::int64_t least = serves(now) ? 1 : now.gpus;
            const std::int64_t most = largest(least, *now.question.batch, [&](std::int64_t size) {
                other.question.batch = size;
                return fits(other);
            });
            if (most > 0) {
                other.what = std::to_string(most) + " sequences instead of " +
                             std::to_string(*now.question.batch);
                other.gives_up = GivesUp::speed;
                other.question.batch = most;
                found.push_back(other);
            }
        }
        Changed other = now;
        const std::int64_t most = largest(least_length, now.question.seq, [&](std::int64_t size) {
            other.question.seq = size;
            return fits(other);
        });
        if (most < least_length) return;
        other.what =
            std::to_string(most) + " tokens instead of " + std::to_string(now.question.seq);
        other.gives_up = GivesUp::scope;
        other.question.seq = most;
        found.push_back(std::move(other));
    }

  private:
    static constexpr std::int64_t least_length = 128;

    /// The largest of least, 2 least, 4 least, ... below `beyond` for which `holds`; 0: none.
    static std::int64_t largest(std::int64_t least, std::int64_t beyond,
                                const std::function<bool(std::int64_t)>& holds) {
        std::int64_t found = 0;
        for (std::int64_t size = least; size < beyond && holds(size); size *= 2) found = size;
        return found;
    }

    const programs::Architecture& architecture_;
    const Place& place_;
    std::int64_t& layouts_;
};

/// Changes of a question, the smallest first, without those of sizes and numbers of GPUs.
std::vector<Changed> simple_changes(const Changed& now) {
    std::vector<Changed> found;
    add_layouts(now, found);
    if (serves(now)) {
        add_types(now, found);
    } else {
        add_training(now, found);
    }
    return found;
}

void sort_by_loss(std::vector<Changed>& changes) {
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Changed& a, const Changed& b) { return a.gives_up < b.gives_up; });
}

}  // namespace

std::vector<Change> changes_that_fit(const programs::Architecture& architecture,
                                     const PlanQuestion& question, const Place& place,
                                     std::int64_t gpus, MoreGpus more, std::int64_t& layouts) {
    Changes search(architecture, place, layouts);
    const Changed now{.what = {}, .question = question, .gpus = gpus};
    std::vector<Changed> wanted = simple_changes(now);
    if (more == MoreGpus::allowed) search.add_gpus(now, wanted);
    search.add_sizes(now, wanted);
    sort_by_loss(wanted);
    std::vector<Change> found;
    const auto keep = [&](const std::vector<Changed>& changes) {
        for (const Changed& each : changes) {
            if (found.size() >= most_changes) return;
            if (!search.fits(each)) continue;
            PlanRow row = search.answer(each);
            if (!row.fits) continue;
            found.push_back({.what = each.what, .gives_up = each.gives_up, .then = std::move(row)});
        }
    };
    keep(wanted);
    if (!found.empty()) return found;
    for (const Changed& first : simple_changes(now)) {
        std::vector<Changed> pairs = simple_changes(first);
        if (more == MoreGpus::allowed) search.add_gpus(first, pairs);
        search.add_sizes(first, pairs);
        for (Changed& second : pairs) {
            second.what = first.what + " and " + second.what;
            second.gives_up = std::max(first.gives_up, second.gives_up);
        }
        sort_by_loss(pairs);
        keep(pairs);
        if (found.size() >= most_changes) break;
    }
    return found;
}

}  // namespace ridge::answers
