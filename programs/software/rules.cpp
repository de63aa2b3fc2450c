#include "programs/software/rules.h"

#include <array>
#include <string>

#include "hardware/document.h"
#include "hardware/error.h"

namespace ridge::programs {
namespace {

constexpr std::size_t software_count = 3;

Rules read_rules(Software software) {
    const std::string name = "/" + std::string(name_of(software)) + ".toml";
    for (const hardware::EmbeddedFile& file : embedded_rules()) {
        if (!file.path.ends_with(name)) continue;
        const hardware::Document document =
            hardware::parse_document(file.text, std::string(file.path));
        RIDGE_CONTRACT(!document.problem);
        Rules rules;
        rules.merges = document.root.child("merges")->boolean;
        rules.rows_apart = document.root.child("rows_apart")->boolean;
        const hardware::Node& run = *document.root.child("run");
        add_procedures(run.text, run.location(), rules.run);
        return rules;
    }
    throw InputError("no rules for " + std::string(name_of(software)));
}

}  // namespace

const Rules& rules_of(Software software) {
    static const std::array<Rules, software_count> all{read_rules(Software::transformers),
                                                       read_rules(Software::compiled),
                                                       read_rules(Software::serving)};
    return all[static_cast<std::size_t>(software)];
}

const Procedures& procedures_of(const Family& family, Software software) {
    const std::scoped_lock guard(family.compiled->lock);
    auto& made = family.compiled->by_software[std::string(name_of(software))];
    if (made == nullptr) {
        const Rules& rules = rules_of(software);
        made = std::make_shared<const Procedures>(family, rules.run, rules.merges);
    }
    return *made;
}

void check_procedures(const Family& family) {
    for (const Software each : {Software::transformers, Software::compiled, Software::serving}) {
        static_cast<void>(modules_of(procedures_of(family, each)));
    }
}

std::vector<Module> modules_of(const Procedures& procedures) {
    std::vector<Module> modules;
    for (const std::string& name : procedures.modules()) {
        std::size_t place = 0;
        while (place < module_count && name_of(static_cast<Module>(place)) != name) ++place;
        if (place == module_count) throw InputError("no module '" + name + "'");
        modules.push_back(static_cast<Module>(place));
    }
    return modules;
}

}  // namespace ridge::programs
