#include "measure/ranks/link_standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "hardware/units.h"
#include "measure/statistics/quantile.h"

namespace ridge::measure {
namespace {

constexpr double least_ratio = 0.95;
constexpr std::size_t least_links = 3;

/// One value of one link.
struct Reading {
    std::string link;
    std::string kind;  ///< with the names of the GPUs
    std::string shown;
    double value = 0.0;  ///< a rate, or a latency
    bool latency = false;
};

template <class Q>
void add_pairs(const LinkSurvey& survey, const PairTable<Q>& table, std::string_view kind,
               bool latency, std::vector<Reading>& readings) {
    for (std::size_t from = 0; from < table.size(); ++from) {
        for (std::size_t to = 0; to < table[from].size(); ++to) {
            const std::optional<Q>& value = table[from][to];
            if (from == to || !value || value->base() <= 0.0) continue;
            readings.push_back(
                {.link = fmt::format("GPU {} to GPU {} on {}", from, to, survey.host_name),
                 .kind = fmt::format("{}, {} to {}", kind, survey.gpus[from], survey.gpus[to]),
                 .shown = format(*value),
                 .value = value->base(),
                 .latency = latency});
        }
    }
}

void add_host(const LinkSurvey& survey, std::vector<Reading>& readings) {
    for (std::size_t gpu = 0; gpu < survey.host.size() && gpu < survey.gpus.size(); ++gpu) {
        const HostLink& link = survey.host[gpu];
        for (const auto& [kind, rate] :
             {std::pair<std::string_view, Bandwidth>{"host to GPU", link.to_device},
              {"GPU to host", link.to_host}}) {
            if (rate.base() <= 0.0) continue;
            readings.push_back(
                {.link = fmt::format("GPU {} and its host {}", gpu, survey.host_name),
                 .kind = fmt::format("{}, {}", kind, survey.gpus[gpu]),
                 .shown = format(rate),
                 .value = rate.base()});
        }
    }
}

}  // namespace

std::vector<LinkStanding> compare_links(std::span<const LinkSurvey> surveys) {
    std::vector<Reading> readings;
    for (const LinkSurvey& survey : surveys) {
        add_pairs(survey, survey.one_way, "copy one way", false, readings);
        add_pairs(survey, survey.both_ways, "copies both ways", false, readings);
        add_pairs(survey, survey.load, "load", true, readings);
        add_host(survey, readings);
    }
    std::map<std::string, std::vector<double>> kinds;
    for (const Reading& each : readings) kinds[each.kind].push_back(each.value);
    std::vector<LinkStanding> standings;
    for (Reading& each : readings) {
        const std::vector<double>& values = kinds.at(each.kind);
        const double usual = median_of(values);
        const double ratio = each.latency ? usual / each.value : each.value / usual;
        standings.push_back({.link = std::move(each.link),
                             .kind = std::move(each.kind),
                             .measured = std::move(each.shown),
                             .usual = each.latency ? format(Time::from_base(usual))
                                                   : format(Bandwidth::from_base(usual)),
                             .ratio = ratio,
                             .slow = values.size() >= least_links && ratio < least_ratio});
    }
    std::stable_sort(
        standings.begin(), standings.end(),
        [](const LinkStanding& a, const LinkStanding& b) { return a.ratio < b.ratio; });
    return standings;
}

}  // namespace ridge::measure
