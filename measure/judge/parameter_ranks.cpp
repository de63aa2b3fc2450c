#include "measure/judge/parameter_ranks.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "hardware/error.h"
#include "model/predict.h"

namespace ridge::measure {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// What is compared, and the class of each row.
struct Judged {
    std::vector<const Question*> questions;
    std::vector<Time> measured;
    std::vector<std::size_t> groups;
    std::vector<std::string> names;  ///< of the groups
};

Judged judged_rows(std::span<const Record> records, const Validation& validation,
                   const std::string& gpu) {
    Judged rows;
    std::map<std::string, std::size_t> known;
    for (const Comparison& each : validation.comparisons) {
        if (each.device != gpu) {
            throw InputError(
                "the records are of several GPUs: name one with --gpu, or one's folder");
        }
        const Record& record = records[each.record];
        const std::string name = std::string(name_of(record.question.operation)) + ' ' +
                                 std::string(name_of(record.question.execution.implementation));
        const auto [group, fresh] = known.emplace(name, rows.names.size());
        if (fresh) rows.names.push_back(name);
        rows.questions.push_back(&record.question);
        rows.measured.push_back(record.time());
        rows.groups.push_back(group->second);
    }
    if (rows.questions.empty()) throw InputError("no record could be compared with a prediction");
    return rows;
}

/// ln(predicted / measured) of each row; nothing if a row is no longer modelled.
std::optional<VectorXd> errors_of(const Judged& rows, const model::Machine& machine) {
    VectorXd errors(static_cast<Index>(rows.questions.size()));
    for (std::size_t i = 0; i < rows.questions.size(); ++i) {
        const Question& question = *rows.questions[i];
        const model::Outcome outcome =
            model::predict(question.operation, question.execution, machine);
        const auto* const found = std::get_if<model::Prediction>(&outcome);
        if (found == nullptr) return std::nullopt;
        errors[static_cast<Index>(i)] = std::log(found->time / rows.measured[i]);
    }
    return errors;
}

/// The mean of |predicted / measured - 1| of each class.
std::vector<double> mean_errors(const Judged& rows, const VectorXd& errors) {
    std::vector<double> sums(rows.names.size());
    std::vector<double> counts(rows.names.size());
    for (std::size_t i = 0; i < rows.groups.size(); ++i) {
        sums[rows.groups[i]] += std::abs(std::expm1(errors[static_cast<Index>(i)]));
        counts[rows.groups[i]] += 1.0;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] /= counts[i];
    return sums;
}

/// Moves a parameter both ways; its slopes, or nothing if it cannot move.
std::optional<VectorXd> moved(const Judged& rows, const std::vector<double>& before,
                              const model::Machine& machine, double move, ParameterRank& rank) {
    std::array<VectorXd, 2> ends;
    for (const bool up : {false, true}) {
        model::Machine other = machine;
        const double factor = up ? 1.0 + move : 1.0 / (1.0 + move);
        if (!rank.parameter->write(other, factor * rank.value)) return std::nullopt;
        auto errors = errors_of(rows, other);
        if (!errors) return std::nullopt;
        const std::vector<double> after = mean_errors(rows, *errors);
        for (std::size_t i = 0; i < after.size(); ++i) {
            const double change = std::abs(after[i] - before[i]);
            if (change <= rank.points) continue;
            rank.points = change;
            rank.moved = rows.names[i];
        }
        ends[up ? 1 : 0] = std::move(*errors);
    }
    return (ends[1] - ends[0]) / (2.0 * std::log1p(move));
}

/// Standard errors and the most parallel slopes of the parameters on which rows depend.
void relate(const std::vector<VectorXd>& slopes, double variance,
            const std::vector<ParameterRank*>& ranks) {
    const auto count = static_cast<Index>(slopes.size());
    if (count == 0) return;
    MatrixXd jacobian(slopes.front().size(), count);
    for (Index j = 0; j < count; ++j) {
        const VectorXd& each = slopes[static_cast<std::size_t>(j)];
        jacobian.col(j) = each / each.norm();
    }
    const MatrixXd cosines = jacobian.transpose() * jacobian;
    // So little that it only keeps parameters apart whose slopes are the same.
    constexpr double damping = 1e-9;
    const MatrixXd inverse = (cosines + damping * MatrixXd::Identity(count, count))
                                 .ldlt()
                                 .solve(MatrixXd::Identity(count, count));
    for (Index j = 0; j < count; ++j) {
        ParameterRank& rank = *ranks[static_cast<std::size_t>(j)];
        const double error = std::sqrt(variance * std::max(inverse(j, j), 0.0)) /
                             slopes[static_cast<std::size_t>(j)].norm();
        rank.standard_error = error < 1.0 ? error : std::numeric_limits<double>::infinity();
        for (Index other = 0; other < count; ++other) {
            if (other == j || std::abs(cosines(j, other)) <= std::abs(rank.cosine)) continue;
            rank.cosine = cosines(j, other);
            rank.like = ranks[static_cast<std::size_t>(other)]->parameter;
        }
    }
}

void count_ranks(ParameterRanks& found) {
    double all = 0.0;
    for (const ParameterRank& each : found.ranks) {
        all += each.points;
        if (each.points < least_points) ++found.idle;
    }
    constexpr double nine_tenths = 0.9;
    double part = 0.0;
    while (found.most < found.ranks.size() && part < nine_tenths * all) {
        part += found.ranks[found.most++].points;
    }
}

}  // namespace

ParameterRanks rank_parameters(std::span<const Record> records, const Validation& validation,
                               const model::Machine& machine, double move) {
    const Judged rows = judged_rows(records, validation, machine.name);
    const VectorXd base = *errors_of(rows, machine);
    const std::vector<double> before = mean_errors(rows, base);
    ParameterRanks found;
    std::map<const model::ModelParameter*, VectorXd> all_slopes;
    for (const model::ModelParameter& parameter : model::model_parameters()) {
        const std::optional<double> value = parameter.read(machine);
        if (!value || !(*value > 0.0)) continue;
        ParameterRank rank;
        rank.parameter = &parameter;
        rank.value = *value;
        auto slopes = moved(rows, before, machine, move, rank);
        if (!slopes) continue;
        if (slopes->squaredNorm() > 0.0) {
            all_slopes.emplace(&parameter, std::move(*slopes));
        } else {
            rank.standard_error = std::numeric_limits<double>::infinity();
        }
        found.ranks.push_back(std::move(rank));
    }
    std::vector<VectorXd> slopes;
    std::vector<ParameterRank*> ranks;
    for (ParameterRank& each : found.ranks) {
        const auto of = all_slopes.find(each.parameter);
        if (of == all_slopes.end()) continue;
        slopes.push_back(std::move(of->second));
        ranks.push_back(&each);
    }
    relate(slopes, base.squaredNorm() / static_cast<double>(base.size()), ranks);
    std::stable_sort(
        found.ranks.begin(), found.ranks.end(),
        [](const ParameterRank& a, const ParameterRank& b) { return a.points > b.points; });
    count_ranks(found);
    return found;
}

}  // namespace ridge::measure
