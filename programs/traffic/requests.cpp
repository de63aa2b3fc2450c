#include "programs/traffic/requests.h"

#include <algorithm>
#include <cmath>

#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/number_text.h"
#include "hardware/si.h"
#include "hardware/text.h"

namespace ridge::programs {
namespace {

constexpr double longest = 1e7;  ///< tokens of a drawn length

double positive_number(std::string_view text, std::string_view field) {
    const auto value = whole_real(text);
    if (!value || !(*value > 0.0) || *value > longest) {
        throw InputError(std::string(field) + ": " + quoted(text) + " is no length", {},
                         "512, 100-2000, exponential:512, lognormal:512:0.8 or zipf:16-4096");
    }
    return *value;
}

/// The two numbers of "100-2000" or "512:0.8".
Lengths pair_of(LengthLaw law, std::string_view text, char between, std::string_view field) {
    const std::size_t at = text.find(between);
    if (at == std::string_view::npos) {
        static_cast<void>(positive_number({}, field));
    }
    return {.law = law,
            .first = positive_number(text.substr(0, at), field),
            .second = positive_number(text.substr(at + 1), field)};
}

}  // namespace

double Lengths::mean() const {
    switch (law) {
        case LengthLaw::uniform:
            return 0.5 * (first + second);
        case LengthLaw::zipf:
            return (second - first) / portable_log(second / first);
        case LengthLaw::fixed:
        case LengthLaw::exponential:
        case LengthLaw::lognormal:
            break;
    }
    return first;
}

std::int64_t Lengths::draw(Random& random) const {
    double length = first;
    switch (law) {
        case LengthLaw::fixed:
            break;
        case LengthLaw::uniform:
            length = first + random.uniform() * (second - first);
            break;
        case LengthLaw::exponential:
            length = first * random.exponential();
            break;
        case LengthLaw::lognormal: {
            const double variance = portable_log(1.0 + second * second);
            length = first * portable_exp(std::sqrt(variance) * random.normal() - 0.5 * variance);
            break;
        }
        case LengthLaw::zipf:
            length = first * portable_exp(random.uniform() * portable_log(second / first));
            break;
    }
    return std::clamp<std::int64_t>(std::llround(std::min(length, longest)), 1,
                                    static_cast<std::int64_t>(longest));
}

Lengths parse_lengths(std::string_view text, std::string_view field) {
    const std::size_t colon = text.find(':');
    const std::string_view word = text.substr(0, colon);
    const std::string_view rest =
        colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    if (word == "exponential") {
        return {.law = LengthLaw::exponential, .first = positive_number(rest, field)};
    }
    if (word == "lognormal") return pair_of(LengthLaw::lognormal, rest, ':', field);
    Lengths range;
    if (word == "zipf" || text.find('-') != std::string_view::npos) {
        range = word == "zipf" ? pair_of(LengthLaw::zipf, rest, '-', field)
                               : pair_of(LengthLaw::uniform, text, '-', field);
        if (range.first < range.second) return range;
        throw InputError(std::string(field) + ": the first of " + quoted(text) +
                         " must be less than the second");
    }
    const auto count = read_count(text);
    return {.first = count && count->value > 0 ? static_cast<double>(count->value)
                                               : positive_number(text, field)};
}

std::string text_of(const Lengths& lengths) {
    std::string text;
    const auto add = [&text](double value) { append_shortest(text, value); };
    switch (lengths.law) {
        case LengthLaw::fixed:
            add(lengths.first);
            return text;
        case LengthLaw::exponential:
            text = "exponential:";
            add(lengths.first);
            return text;
        case LengthLaw::lognormal:
            text = "lognormal:";
            add(lengths.first);
            text += ':';
            add(lengths.second);
            return text;
        case LengthLaw::zipf:
            text = "zipf:";
            break;
        case LengthLaw::uniform:
            break;
    }
    add(lengths.first);
    text += '-';
    add(lengths.second);
    return text;
}

void validate(const TrafficLoad& load) {
    const auto within = [](const char* field, double value, double least, double most) {
        if (value >= least && value <= most) return;
        throw InputError(std::string(field) + ": must be " + fixed_text(least, 0) + " to " +
                         fixed_text(most, 0));
    };
    within("count", static_cast<double>(load.count), 1.0, longest);
    within("rate", load.rate, 0.0, longest);
    within("concurrency", static_cast<double>(load.concurrency), 0.0, longest);
    within("burstiness", load.burstiness, 1.0, 3.0);
    within("prefix", load.prefix, 0.0, 1.0);
    within("groups", static_cast<double>(load.groups), 1.0, longest);
    within("images", static_cast<double>(load.images), 1.0, 65536.0);
    within("adapters", static_cast<double>(load.adapters), 0.0, longest);
    within("urgent", load.urgent, 0.0, 1.0);
    if ((load.rate > 0.0) == (load.concurrency > 0)) {
        throw InputError("rate: either --rate or --concurrency says how requests arrive");
    }
}

std::vector<TrafficRequest> draw(const TrafficLoad& load) {
    validate(load);
    Random source(load.seed);
    Random lengths = source.split();
    Random arrivals = source.split();
    Random groups = source.split();
    Random images = source.split();
    std::vector<TrafficRequest> all;
    all.reserve(static_cast<std::size_t>(load.count));
    double now = 0.0;
    // Gaps of a mixture of two exponential laws with means 1 + s and 1 - s have the variance
    // 1 + 2 s^2.
    const double scale = std::sqrt((load.burstiness - 1.0) / 2.0);
    for (std::int64_t i = 0; i < load.count; ++i) {
        TrafficRequest request{.prompt = load.prompt.draw(lengths),
                               .answer = load.answer.draw(lengths)};
        const double stretch = 1.0 + (arrivals.uniform() < 0.5 ? scale : -scale);
        const double gap = arrivals.exponential() * stretch;
        if (load.rate > 0.0 && i > 0) now += gap / load.rate;
        request.arrival_ns = std::llround(now / si::nanosecond);
        if (load.prefix > 0.0 && load.groups > 0) {
            request.group =
                static_cast<std::int64_t>(groups.bits() % static_cast<std::uint64_t>(load.groups));
            request.prefix = static_cast<std::int64_t>(std::min(load.prefix, 1.0) *
                                                       static_cast<double>(request.prompt));
        }
        if (load.vision) {
            request.vision = load.vision->draw(images);
            request.prompt += request.vision;
            request.images = load.images;
        }
        if (load.adapters > 0) {
            request.adapter = static_cast<std::int64_t>(images.bits() %
                                                        static_cast<std::uint64_t>(load.adapters));
        }
        if (load.urgent > 0.0) request.priority = groups.uniform() < load.urgent ? 0 : 1;
        all.push_back(request);
    }
    return all;
}

}  // namespace ridge::programs
