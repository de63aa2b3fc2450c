#include "model/catalogue/kernel_rules.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <utility>

#include "hardware/error.h"
#include "model/core/engine_operations.h"
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

/// Reads one [[kernel]].
class RuleReader {
  public:
    RuleReader(const hardware::Row& row, const Software& software)
        : row_(row), software_(software) {}

    KernelRule read() {
        rule_.software = SoftwareChoice::named(software_.name);
        for (const auto& [key, texts] : row_.texts) {
            for (const std::string& text : texts) take(key, text);
        }
        if (!row_.text("law").empty()) {
            rule_.recipe = recipe();
        } else {
            for (const char* const key : {"parameters", "dispatch", "always"}) {
                if (row_.texts.contains(key)) {
                    throw InputError(std::string(key) + " needs a law");
                }
            }
        }
        return rule_;
    }

  private:
    void take(const std::string& key, const std::string& text) {
        if (key == "operations") {
            rule_.operations.push_back(parse_operation_kind(text));
        } else if (key == "types") {
            rule_.types.push_back(parse_data_type(text, "types"));
        } else if (key == "capabilities") {
            rule_.capabilities.push_back(parse_capability(text));
        } else if (key == "mode") {
            rule_.mode = parse_run_mode(text);
        } else if (key == "implementation") {
            rule_.implementation = parse_implementation(text);
        } else if (key == "name") {
            rule_.name = KernelChoice::named(text);
        } else if (key == "fitted") {
            rule_.fitted = SoftwareChoice::named(text);
        } else if (key == "when") {
            auto when = std::make_shared<EngineExpressions>();
            static_cast<void>(when->add(text, row_.location));
            rule_.when = std::move(when);
        } else if (key != "law" && key != "parameters" && key != "always" && key != "dispatch") {
            throw InputError("unknown key \"" + key + "\" in kernel");
        }
    }

    [[nodiscard]] std::shared_ptr<const EngineRecipe> recipe() const {
        if (rule_.name.is_usual()) throw InputError("a kernel with a law needs a name");
        auto recipe = std::make_shared<EngineRecipe>();
        recipe->name = rule_.name;
        recipe->law = law_index(row_.text("law"));
        recipe->key = row_.text("parameters");
        if (recipe->key.empty()) throw InputError("a kernel with a law needs parameters");
        const LawInfo& law = law_table()[recipe->law];
        recipe->section = std::string(engine_section) + '.' + std::string(law.name) + '.' +
                          software_.family + '.' + recipe->key;
        recipe->always = recipe->expressions.add_line(row_.text("always"), law, row_.location);
        if (recipe->always.back() >= 0) throw InputError("always has no condition");
        const auto lines = row_.texts.find("dispatch");
        if (lines != row_.texts.end()) {
            for (const std::string& line : lines->second) {
                recipe->dispatch.push_back(recipe->expressions.add_line(line, law, row_.location));
            }
        }
        if (recipe->dispatch.empty()) throw InputError("a kernel with a law needs a dispatch");
        return recipe;
    }

    const hardware::Row& row_;
    const Software& software_;
    KernelRule rule_;
};

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
            rules.push_back(RuleReader(row, software).read());
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
        std::copy_if(all.begin(), all.end(), std::back_inserter(rules), [](const KernelRule& rule) {
            const auto& kinds = rule.operations;
            const bool by_shape = rule.when && !rule.recipe;
            return rule.mode != RunMode::usual || by_shape ||
                   (rule.recipe && std::any_of(kinds.begin(), kinds.end(), &runs_in_engines_only));
        });
    }
    return rules;
}

}  // namespace ridge::model
