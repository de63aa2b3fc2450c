#include "measure/judge/siblings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "measure/statistics/quantile.h"
#include "model/roof/roofline.h"

namespace ridge::measure {
namespace {

// Two suites on one GPU agree within 3 %; small kernels also depend on the driver's settings.
constexpr std::array<double, work_kinds> most_ratio{1.03, 1.03, 1.10};
constexpr std::array<std::string_view, work_kinds> work_names{
    "kernels that compute", "kernels bound by DRAM", "other kernels"};
constexpr std::int64_t least_questions = 3;
constexpr double hotter = 8.0;             ///< degrees above the siblings
constexpr double throttled_more = 0.05;    ///< share of the samples beyond the siblings'
constexpr std::size_t serial_digits = 12;  ///< of "GPU-3f2a91c0-..."

WorkKind kind_of(const model::Prediction& prediction) {
    if (model::is_compute(prediction.limiter)) return WorkKind::compute;
    return prediction.limiter == model::Resource::dram ? WorkKind::memory : WorkKind::other;
}

/// What is known of one GPU, before it is compared.
struct Seen {
    GpuStanding standing;
    std::map<std::string, std::vector<double>> times{};  ///< of each question, in seconds
    std::vector<double> predicted{};
    std::vector<double> temperatures{};
    std::vector<double> clocks{};
    std::int64_t samples = 0;
    std::int64_t discarded = 0;
    std::set<std::string> reasons{};
    std::array<std::vector<double>, work_kinds> ratios{};
};

/// Reasons that say nothing of a fault: nothing to do, and clocks that an owner has set.
bool tells(const std::string& reason) {
    return reason != "idle" && reason != "applications_clocks" && reason != "sync_boost" &&
           reason != "display_clock";
}

std::optional<double> median_or_none(const std::vector<double>& values) {
    if (values.empty()) return std::nullopt;
    return median_of(values);
}

class Fleet {
  public:
    Fleet(std::span<const Record> records, const Validation& validation) {
        for (const Record& record : records) add(record);
        for (const Comparison& comparison : validation.comparisons) {
            const Record& record = records[comparison.record];
            const std::string question = canonical_text(record.question);
            kinds_[{record.device.name, question}] = kind_of(comparison.prediction);
            Seen& gpu = seen_.at(key_of_gpu(record));
            gpu.predicted.push_back(1.0 / (1.0 + comparison.error));
            if (record.timing->clock && kind_of(comparison.prediction) == WorkKind::compute) {
                gpu.clocks.push_back(record.timing->clock->base());
            }
        }
    }

    std::vector<GpuStanding> judge() {
        for (auto& [key, gpu] : seen_) compare(key, gpu);
        for (auto& [key, gpu] : seen_) settle(gpu);
        for (auto& [key, gpu] : seen_) find_faults(key, gpu);
        std::vector<GpuStanding> standings;
        for (auto& [key, gpu] : seen_) standings.push_back(std::move(gpu.standing));
        std::stable_sort(
            standings.begin(), standings.end(),
            [](const GpuStanding& a, const GpuStanding& b) { return a.worst() > b.worst(); });
        return standings;
    }

  private:
    /// The kind of a GPU and its label.
    using Key = std::pair<std::string, std::string>;

    static Key key_of_gpu(const Record& record) {
        return {record.device.name, gpu_label(record.device, record.location)};
    }

    void add(const Record& record) {
        const Key key = key_of_gpu(record);
        Seen& gpu = seen_[key];
        gpu.standing.name = key.first;
        gpu.standing.label = key.second;
        ++gpu.standing.records;
        if (record.timing) {
            gpu.samples += static_cast<std::int64_t>(record.timing->samples.size());
            gpu.discarded += record.timing->discarded;
        }
        for (const std::string& reason : record.after.clock_reasons) {
            if (tells(reason)) gpu.reasons.insert(reason);
        }
        if (record.after.temperature_celsius) {
            gpu.temperatures.push_back(*record.after.temperature_celsius);
        }
        if (!record.measured()) return;
        gpu.times[canonical_text(record.question)].push_back(record.time().base());
    }

    /// The median over a GPU's siblings of what `value` gives; empty if none has it.
    template <class Value>
    std::optional<double> among_siblings(const Key& own, Value value) const {
        std::vector<double> values;
        for (const auto& [key, gpu] : seen_) {
            if (key == own || key.first != own.first) continue;
            if (const std::optional<double> each = value(gpu)) values.push_back(*each);
        }
        return median_or_none(values);
    }

    void compare(const Key& own, Seen& gpu) {
        for (const auto& [question, times] : gpu.times) {
            const std::string& text = question;
            const auto others = among_siblings(own, [&text](const Seen& sibling) {
                const auto found = sibling.times.find(text);
                return found == sibling.times.end() ? std::optional<double>()
                                                    : median_or_none(found->second);
            });
            if (!others || *others <= 0.0) continue;
            ++gpu.standing.shared;
            const auto kind = kinds_.find({own.first, question});
            const WorkKind work = kind == kinds_.end() ? WorkKind::other : kind->second;
            gpu.ratios[static_cast<std::size_t>(work)].push_back(median_of(times) / *others);
        }
    }

    /// What does not depend on the siblings' standings.
    static void settle(Seen& gpu) {
        GpuStanding& standing = gpu.standing;
        for (std::size_t i = 0; i < work_kinds; ++i) {
            if (gpu.ratios[i].empty()) continue;
            standing.work[i] =
                Standing{static_cast<std::int64_t>(gpu.ratios[i].size()), median_of(gpu.ratios[i])};
        }
        standing.predicted = median_or_none(gpu.predicted);
        standing.temperature = median_or_none(gpu.temperatures);
        if (const auto clock = median_or_none(gpu.clocks)) {
            standing.clock = Frequency::from_base(*clock);
        }
        standing.reasons.assign(gpu.reasons.begin(), gpu.reasons.end());
        if (gpu.samples > 0) {
            standing.throttled =
                static_cast<double>(gpu.discarded) / static_cast<double>(gpu.samples);
        }
    }

    void find_faults(const Key& own, Seen& gpu) const {
        GpuStanding& standing = gpu.standing;
        for (std::size_t i = 0; i < work_kinds; ++i) {
            const std::optional<Standing>& work = standing.work[i];
            if (!work || work->questions < least_questions || work->ratio <= most_ratio[i]) {
                continue;
            }
            standing.faults.push_back(
                fmt::format("slow: its {} take {:.1f} % longer than its siblings' ({} questions)",
                            work_names[i], 100.0 * (work->ratio - 1.0), work->questions));
        }
        const auto warmth =
            among_siblings(own, [](const Seen& sibling) { return sibling.standing.temperature; });
        if (standing.temperature && warmth && *standing.temperature > *warmth + hotter) {
            standing.faults.push_back(
                fmt::format("hot: {:.0f} degrees where its siblings have {:.0f}",
                            *standing.temperature, *warmth));
        }
        const auto share = among_siblings(own, [](const Seen& sibling) {
            return std::optional<double>(sibling.standing.throttled);
        });
        if (share && standing.throttled > *share + throttled_more) {
            standing.faults.push_back(
                fmt::format("throttled: {:.0f} % of its samples, its siblings' {:.0f} %{}",
                            100.0 * standing.throttled, 100.0 * *share,
                            standing.reasons.empty()
                                ? std::string()
                                : fmt::format(" ({})", fmt::join(standing.reasons, ", "))));
        }
    }

    std::map<Key, Seen> seen_{};
    std::map<std::pair<std::string, std::string>, WorkKind> kinds_{};
};

}  // namespace

double GpuStanding::worst() const {
    double most = 0.0;
    for (const std::optional<Standing>& each : work) {
        if (each) most = std::max(most, each->ratio);
    }
    return most > 0.0 ? most : 1.0;
}

std::string gpu_label(const RecordDevice& device, const Location& location) {
    if (device.serial.empty()) {
        const std::filesystem::path folder = std::filesystem::path(location.file).parent_path();
        return folder.empty() ? std::string("one GPU") : folder.filename().string();
    }
    const std::string serial = device.serial.substr(0, serial_digits);
    return device.host.empty() ? serial : serial + " on " + device.host;
}

std::vector<GpuStanding> compare_siblings(std::span<const Record> records,
                                          const Validation& validation) {
    return Fleet(records, validation).judge();
}

}  // namespace ridge::measure
