#include "hardware/consistency.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "hardware/schema.h"
#include "hardware/units.h"

namespace ridge::hardware {
namespace {

class Checker {
  public:
    explicit Checker(const Description& description) : description_(description) {}

    std::vector<Problem> run() {
        check_peaks();
        check_memory();
        check_links();
        check_limits();
        return std::move(problems_);
    }

  private:
    void report(std::string_view path, const std::string& message) {
        const Datum* datum = description_.find(path);
        problems_.push_back({datum == nullptr ? description_.location : datum->location,
                             std::string(path) + ": " + message});
    }

    [[nodiscard]] double tolerance(std::string_view path, double usual) const {
        double percent = usual;
        for (const Tolerance& each : description_.tolerances) {
            if (each.check == path) percent = std::max(percent, each.percent);
        }
        return percent;
    }

    /// Compares a stated figure with the value of `formula`.
    void compare(std::string_view path, std::optional<double> derived, const std::string& formula,
                 double usual_percent) {
        const Datum* datum = description_.find(path);
        if (datum == nullptr || !derived) return;
        const double stated = std::holds_alternative<double>(datum->value)
                                  ? std::get<double>(datum->value)
                                  : static_cast<double>(std::get<std::int64_t>(datum->value));
        const double percent = tolerance(path, usual_percent);
        const double off = 100.0 * std::fabs(stated - *derived) / *derived;
        if (off <= percent) return;
        const Dimension dimension = device_schema().find(path)->dimension;
        report(path, format_base(stated, dimension) + " differs by " + format_number(off, 2) +
                         " % from " + formula + " = " + format_base(*derived, dimension) +
                         "; the tolerance is " + format_number(percent, 3) + " %");
    }

    template <class Q>
    [[nodiscard]] std::optional<Q> get(std::string_view path) const {
        return description_.quantity<Q>(path);
    }

    void check_peaks() {
        const auto multiprocessors = description_.count("sm.count");
        const auto boost = get<Frequency>("clock.boost");
        const auto tensor =
            description_.find("clock.tensor") != nullptr ? get<Frequency>("clock.tensor") : boost;
        for (const Field& field : device_schema().fields()) {
            if (!field.path.starts_with("peak.")) continue;
            const std::string rate_path = "rate." + field.path.substr(5);
            const bool at_boost =
                field.path.starts_with("peak.fma.") || field.path == "peak.tensor.fp64";
            const auto clock = at_boost ? boost : tensor;
            if (device_schema().find(rate_path) == nullptr || !multiprocessors || !clock) continue;
            const auto rate = get<FlopPerCycle>(rate_path);
            if (!rate) continue;
            const FlopRate peak = static_cast<double>(*multiprocessors) * *rate * *clock;
            compare(field.path, peak.base(),
                    std::to_string(*multiprocessors) + " multiprocessors x " + format(*rate) +
                        " x " + format(*clock),
                    3.0);
        }
    }

    void check_memory() {
        const auto width = description_.count("dram.bus_width");
        const auto clock = get<Frequency>("dram.clock");
        auto rate = get<Frequency>("dram.data_rate");
        if (!rate && clock) rate = 2.0 * *clock;
        if (width && rate) {
            compare("dram.bandwidth", static_cast<double>(*width) / 8.0 * rate->base(),
                    std::to_string(*width) + " bits x " + format_number(rate->base() / 1e9, 4) +
                        " GT/s",
                    1.0);
        }
        const auto capacity = get<Bytes>("dram.capacity");
        const auto nominal = get<Bytes>("dram.capacity_nominal");
        if (capacity && nominal && *capacity > 1.08 * *nominal) {
            report("dram.capacity", "more than 8 % above dram.capacity_nominal");
        }
        const auto slices = description_.count("l2.slices");
        if (!slices) return;
        const auto count = static_cast<double>(*slices);
        if (const auto size = get<Bytes>("l2.slice_size")) {
            compare("l2.size", count * size->base(), "slices x l2.slice_size", 0.1);
        }
        if (const auto each = get<BytesPerCycle>("l2.slice_bytes_per_clock")) {
            compare("l2.bytes_per_clock", count * each->base(), "slices x l2.slice_bytes_per_clock",
                    0.1);
        }
    }

    void check_links() {
        const auto links = description_.count("link.links");
        const auto each = get<Bandwidth>("link.per_link_per_direction");
        const auto direction = get<Bandwidth>("link.per_direction");
        if (links && each) {
            compare("link.per_direction", static_cast<double>(*links) * each->base(),
                    "links x link.per_link_per_direction", 1.0);
        }
        if (direction) {
            compare("link.total", 2.0 * direction->base(), "2 x link.per_direction", 1.0);
        }
        const auto generation = description_.count("pcie.generation");
        const auto lanes = description_.count("pcie.lanes");
        if (generation && lanes && *generation >= 1 && *generation <= 7) {
            const double lane = 0.25e9 * std::exp2(static_cast<double>(*generation - 1));
            compare("pcie.per_direction", static_cast<double>(*lanes) * lane,
                    "lanes x nominal rate of generation " + std::to_string(*generation), 5.0);
        }
    }

    void check_order(std::string_view smaller, std::string_view larger) {
        const auto value = [&](std::string_view path) -> std::optional<double> {
            const Datum* datum = description_.find(path);
            if (datum == nullptr) return std::nullopt;
            return std::holds_alternative<double>(datum->value)
                       ? std::get<double>(datum->value)
                       : static_cast<double>(std::get<std::int64_t>(datum->value));
        };
        const auto low = value(smaller);
        const auto high = value(larger);
        if (low && high && *low > *high) {
            report(smaller, "is more than " + std::string(larger));
        }
    }

    void check_limits() {
        const auto warps = description_.count("limits.warps_per_sm");
        const auto warp = description_.count("limits.warp_size");
        if (warps && warp) {
            compare("limits.threads_per_sm",
                    static_cast<double>(*warps) * static_cast<double>(*warp),
                    "limits.warps_per_sm x limits.warp_size", 0.1);
        }
        check_order("sm.count", "sm.full_die");
        check_order("clock.base", "clock.boost");
        check_order("clock.tensor", "clock.boost");
        check_order("shared.static_per_block", "shared.per_block");
        check_order("shared.per_block", "shared.per_sm");
        check_order("limits.threads_per_block", "limits.threads_per_sm");
        check_order("dram.sector", "dram.line");
        check_order("latency.l1", "latency.l2");
        check_order("latency.l2", "latency.l2_far");
        check_order("latency.l2", "latency.dram");
    }

    const Description& description_;
    std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> check_consistency(const Description& description) {
    return Checker(description).run();
}

}  // namespace ridge::hardware
