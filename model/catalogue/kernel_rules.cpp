#include "model/catalogue/kernel_rules.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "hardware/error.h"
#include "model/machine/schema.h"

namespace ridge::model {
namespace {

/// "9.0" as 90.
std::int32_t parse_capability(const std::string& text) {
    const std::size_t point = text.find('.');
    std::int32_t major = 0;
    std::int32_t minor = 0;
    const char* const end = text.data() + text.size();
    const bool read =
        point != std::string::npos &&
        std::from_chars(text.data(), text.data() + point, major).ptr == text.data() + point &&
        std::from_chars(text.data() + point + 1, end, minor).ptr == end;
    if (!read || point + 1 == text.size()) {
        throw InputError("capabilities: '" + text + "' is not a compute capability", {},
                         "write it like 9.0");
    }
    return major * 10 + minor;
}

KernelRule read_rule(const hardware::Row& row, SoftwareChoice software) {
    KernelRule rule;
    rule.software = software;
    for (const auto& [key, texts] : row.texts) {
        for (const std::string& text : texts) {
            if (key == "operations") {
                rule.operations.push_back(parse_operation_kind(text));
            } else if (key == "types") {
                rule.types.push_back(parse_data_type(text, "types"));
            } else if (key == "capabilities") {
                rule.capabilities.push_back(parse_capability(text));
            } else if (key == "mode") {
                rule.mode = parse_run_mode(text);
            } else if (key == "implementation") {
                rule.implementation = parse_implementation(text);
            } else {
                throw InputError("unknown key \"" + key + "\" in kernel");
            }
        }
    }
    return rule;
}

void add_rules(const Software& software, std::vector<KernelRule>& rules) {
    std::vector<hardware::Problem> problems;
    for (KernelRule& rule : rules_in(software, problems)) rules.push_back(std::move(rule));
    hardware::throw_problems(problems);
}

}  // namespace

std::vector<KernelRule> rules_in(const Software& software,
                                 std::vector<hardware::Problem>& problems) {
    std::vector<KernelRule> rules;
    const hardware::Loaded loaded =
        hardware::load_text(software.text, software.file, schema(), software_form());
    for (const hardware::Row& row : loaded.description.rows) {
        try {
            rules.push_back(read_rule(row, SoftwareChoice::named(software.name)));
        } catch (const InputError& error) {
            problems.push_back({row.location, error.message()});
        }
    }
    return rules;
}

std::vector<KernelRule> rules_of(std::span<const Software> all, const Software& software) {
    std::vector<const Software*> order{&software};
    for (std::size_t i = 0; i < order.size(); ++i) {
        std::vector<std::string> below = order[i]->uses;
        if (!order[i]->inherits.empty()) below.insert(below.begin(), order[i]->inherits);
        for (const std::string& name : below) {
            const auto each = std::find_if(all.begin(), all.end(),
                                           [&name](const Software& s) { return s.name == name; });
            const bool is_new =
                each != all.end() && std::find(order.begin(), order.end(), &*each) == order.end();
            if (is_new) order.push_back(&*each);
        }
    }
    std::vector<KernelRule> rules;
    for (const Software* const each : order) {
        const std::size_t before = rules.size();
        add_rules(*each, rules);
        if (each->name != software.inherits) continue;
        for (std::size_t i = before; i < rules.size(); ++i) {
            rules[i].software = SoftwareChoice::named(software.name);
        }
    }
    return rules;
}

std::vector<KernelRule> usual_rules(std::span<const StackPart> stack) {
    std::vector<KernelRule> rules;
    for (const StackPart& part : stack) {
        std::vector<KernelRule> all;
        add_rules(*part.software, all);
        std::copy_if(all.begin(), all.end(), std::back_inserter(rules),
                     [](const KernelRule& rule) { return rule.mode != RunMode::usual; });
    }
    return rules;
}

}  // namespace ridge::model
