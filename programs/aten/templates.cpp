#include "programs/aten/templates.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/units.h"

namespace ridge::programs {
namespace {

using hardware::Node;

double number_at(const Node& table, std::string_view key, double otherwise) {
    const Node* const node = table.child(key);
    if (node == nullptr) return otherwise;
    return node->kind == hardware::NodeKind::integer ? static_cast<double>(node->integer)
                                                     : node->real;
}

void read_counts(const Node& table, std::string_view key, std::array<double, count_count>& values) {
    const Node* const terms = table.child(key);
    if (terms == nullptr) return;
    for (const Node& term : terms->children) {
        const auto which = count_named(term.key);
        if (!which) {
            throw InputError("templates: no count is named '" + std::string(term.key) + "'",
                             term.location());
        }
        values.at(static_cast<std::size_t>(*which)) = number_at(*terms, term.key, 0.0);
    }
}

bool flag_at(const Node& table, std::string_view key) {
    const Node* const node = table.child(key);
    return node != nullptr && node->boolean;
}

Template template_at(const Node& table) {
    Template law{.operators = {},
                 .fixed = number_at(table, "fixed_us", 0.0) * units::us,
                 .bytes = number_at(table, "bytes", 0.0),
                 .rule = number_at(table, "rule", 0.0),
                 .bytes_missed = number_at(table, "bytes_missed", 0.0),
                 .low = number_at(table, "low", 1.0),
                 .high = number_at(table, "high", 1.0),
                 .rows = static_cast<std::int64_t>(number_at(table, "rows", 0.0))};
    if (const Node* const kernel = table.child("kernel")) law.kernel = kernel->text;
    law.fallback = flag_at(table, "fallback");
    for (const Node& name : table.child("operators")->children) {
        law.operators.emplace_back(name.text);
    }
    read_counts(table, "clocks", law.clocks);
    read_counts(table, "chain", law.chain);
    read_counts(table, "turns", law.turns);
    read_counts(table, "missed", law.missed);
    return law;
}

using Laws = std::map<std::string, Template, std::less<>>;
constexpr std::array<std::string_view, 3> suffixes{"", " launched", " kernels"};

std::string key_of(std::string_view name, std::string_view kernel) {
    return std::string(name) + " | " + std::string(kernel);
}

std::string key_of(std::string_view name, LawOf which) {
    return std::string(name) + std::string(suffixes.at(static_cast<std::size_t>(which)));
}

Laws read_templates() {
    Laws laws;
    for (const hardware::EmbeddedFile& file : embedded_templates()) {
        const hardware::Document document =
            hardware::parse_document(file.text, std::string(file.path));
        RIDGE_CONTRACT(!document.problem);
        const Node* const tables = document.root.child("template");
        if (tables == nullptr) continue;
        for (const Node& table : tables->children) {
            const Template law = template_at(table);
            const LawOf which = flag_at(table, "launched")  ? LawOf::launches
                                : flag_at(table, "kernels") ? LawOf::kernels
                                                            : LawOf::shapes;
            for (const std::string& name : law.operators) {
                laws.emplace(law.kernel.empty() ? key_of(name, which) : key_of(name, law.kernel),
                             law);
            }
        }
    }
    return laws;
}

const Template* law_at(const std::string& key) {
    static const Laws laws = read_templates();
    const auto found = laws.find(key);
    return found == laws.end() ? nullptr : &found->second;
}

}  // namespace

const Template* template_of(std::string_view name, LawOf which) {
    return law_at(which == LawOf::shapes ? std::string(name) : key_of(name, which));
}

const Template* template_of_kernel(std::string_view name, std::string_view kernel) {
    return law_at(key_of(name, kernel));
}

std::string kernel_key(std::string_view name) {
    constexpr std::string_view hidden = "(anonymous namespace)";
    if (name.starts_with("void ")) name.remove_prefix(5);
    std::size_t end = name.find('<');
    // A parenthesis of a namespace is no list of arguments.
    for (std::size_t place = name.find('('); place != name.npos;
         place = name.find('(', place + 1)) {
        if (name.substr(place).starts_with(hidden)) continue;
        end = std::min(end, place);
        break;
    }
    std::string_view base = name.substr(0, end);
    while (base.ends_with(' ')) base.remove_suffix(1);
    if (const std::size_t scope = base.rfind("::"); scope != base.npos) {
        base.remove_prefix(scope + 2);
        name.remove_prefix(scope + 2);
    }
    const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
    for (std::size_t i = 0; i + 1 < base.size(); ++i) {  // a tile: "128x64"
        if (base[i] != 'x' || i == 0 || !is_digit(base[i - 1]) || !is_digit(base[i + 1])) continue;
        return std::string(base.substr(0, base.find_last_not_of("0123456789_", i - 1) + 1));
    }
    std::string_view numbers = name.substr(std::min(base.size(), name.size()));
    if (!numbers.starts_with('<')) return std::string(base);
    numbers = numbers.substr(0, numbers.find_first_not_of("<0123456789, "));
    numbers = numbers.substr(0, numbers.find_last_of("0123456789") + 1);
    return std::string(base) + std::string(numbers);
}

TemplateTime time_of(const Template& law, const Counts& counts, const model::Machine& machine,
                     Time rule) {
    const double clock = machine.boost_clock.base();
    const double multiprocessors = static_cast<double>(std::max<std::int64_t>(1, machine.sm_count));
    const double turns = std::ceil(std::max(1.0, counts[Count::channels]) / multiprocessors);
    const double capacity = machine.l2.size.base();
    const double missed = capacity > 0.0 ? std::min(1.0, counts[Count::bytes] / capacity) : 1.0;
    double clocks = 0.0;
    double chain = 0.0;
    for (std::size_t i = 0; i < count_count; ++i) {
        clocks += law.clocks.at(i) * counts[static_cast<Count>(i)];
        chain += (law.chain.at(i) + law.turns.at(i) * turns + law.missed.at(i) * missed) *
                 counts[static_cast<Count>(i)];
    }
    const double bytes = law.bytes + law.bytes_missed * missed;
    const double memory = counts[Count::bytes] / machine.dram_bandwidth.base();
    const double work = clock > 0.0 ? (clocks / multiprocessors + chain) / clock : 0.0;
    const Time time = law.fixed + law.rule * rule + Time::from_base(bytes * memory + work);
    return {
        .time = time,
        .low = time * law.low,
        .high = time * law.high,
        // An L2 may serve all bytes: only an empty kernel bounds the time from below.
        .lower_bound = std::min(machine.kernel_floor, time * law.low),
        .streams = bytes * memory >= work,
        .by_rule = law.rule * rule >= std::max(law.fixed, Time::from_base(bytes * memory + work))};
}

}  // namespace ridge::programs
