#include "model/catalogue/software.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "hardware/error.h"
#include "hardware/field_reader.h"
#include "hardware/nearest.h"

namespace ridge::model {
namespace {

constexpr std::array<std::string_view, 4> software_words{"needs", "uses", "parameters", "program"};
constexpr std::array<std::string_view, 1> software_tables{"kernel"};
constexpr hardware::Form form{
    .kind = "software", .words = software_words, .tables = software_tables, .roots = {}};

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

/// Cuts the next run of digits or of other letters off a version; dots part runs.
std::string_view next_run(std::string_view& version) {
    while (!version.empty() && version.front() == '.') version.remove_prefix(1);
    std::size_t length = 0;
    while (length < version.size() && version[length] != '.' &&
           is_digit(version[length]) == is_digit(version.front())) {
        ++length;
    }
    const std::string_view run = version.substr(0, length);
    version.remove_prefix(length);
    return run;
}

std::string_view without_zeros(std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

/// Less, equal or greater than zero: a number comes after the end of a version, and that after letters.
int compare_runs(std::string_view a, std::string_view b) {
    const auto rank = [](std::string_view run) {
        if (run.empty()) return 1;
        return is_digit(run.front()) ? 2 : 0;
    };
    if (rank(a) != rank(b)) return rank(a) - rank(b);
    if (rank(a) != 2) return a.compare(b);
    a = without_zeros(a);
    b = without_zeros(b);
    return a.size() == b.size() ? a.compare(b) : (a.size() < b.size() ? -1 : 1);
}

/// The versions that count, by family; a family may have several.
class Choice {
  public:
    explicit Choice(std::span<const Software> all) : all_(all) {}

    /// Takes a version and what it uses. `forced`: in place of other versions of the family. The first
    /// of several in a family is the one that was asked for, or the newest.
    void take(const Software& software, bool forced) {
        if (!forced && is_forced(software.family)) return;
        auto& versions = versions_[software.family];
        if (std::find(versions.begin(), versions.end(), &software) != versions.end()) return;
        if (forced) forced_.push_back(software.family);
        const auto older =
            std::find_if(versions.begin(), versions.end(),
                         [&](const Software* each) { return is_older(each->name, software.name); });
        versions.insert(forced ? versions.end() : older, &software);
        for (const std::string& used : software.uses) {
            const auto found = std::find_if(all_.begin(), all_.end(),
                                            [&](const Software& s) { return s.name == used; });
            if (found == all_.end()) {
                throw InputError("uses \"" + used + "\", which is not known software",
                                 {.file = software.file});
            }
            take(*found, forced);
        }
    }

    /// Whether a version of the family was asked for.
    [[nodiscard]] bool is_forced(const std::string& family) const {
        return std::find(forced_.begin(), forced_.end(), family) != forced_.end();
    }

    [[nodiscard]] const auto& versions() const { return versions_; }

  private:
    std::span<const Software> all_;
    std::map<std::string, std::vector<const Software*>, std::less<>> versions_;
    std::vector<std::string> forced_;
};

const Software* newest_of(std::span<const Software> all, std::string_view family) {
    const Software* newest = nullptr;
    for (const Software& each : all) {
        if (each.family != family) continue;
        if (newest == nullptr || is_older(newest->name, each.name)) newest = &each;
    }
    return newest;
}

/// For a version that no file describes: the oldest newer one, else the newest. A build
/// without a release ("0.1.dev19262") counts as the newest. Null if nothing is called so.
const Software* nearest_version(std::span<const Software> all, std::string_view name) {
    const SoftwareName parts = split_name(name);
    if (parts.version.empty()) return nullptr;
    const Software* const newest = newest_of(all, parts.family);
    if (newest == nullptr) return nullptr;
    if (parts.version.find("dev") != std::string_view::npos) return newest;
    const Software* newer = newest;
    for (const Software& each : all) {
        if (each.family != parts.family || is_older(each.name, name)) continue;
        if (is_older(each.name, newer->name)) newer = &each;
    }
    return newer;
}

std::vector<const Software*> other_versions(std::span<const Software> all, const Software& of) {
    std::vector<const Software*> others;
    for (const Software& each : all) {
        if (each.family == of.family && each.name != of.name) others.push_back(&each);
    }
    std::sort(others.begin(), others.end(), [&of](const Software* a, const Software* b) {
        const bool a_is_older = is_older(a->name, of.name);
        const bool b_is_older = is_older(b->name, of.name);
        if (a_is_older != b_is_older) return a_is_older;
        return a_is_older ? is_older(b->name, a->name) : is_older(a->name, b->name);
    });
    return others;
}

}  // namespace

const hardware::Form& software_form() {
    return form;
}

SoftwareName split_name(std::string_view name) {
    for (std::size_t at = name.rfind('-'); at != std::string_view::npos && at > 0;
         at = name.rfind('-', at - 1)) {
        if (at + 1 < name.size() && is_digit(name[at + 1])) {
            return {.family = name.substr(0, at), .version = name.substr(at + 1)};
        }
    }
    return {.family = name, .version = {}};
}

bool is_older(std::string_view a, std::string_view b) {
    std::string_view left = split_name(a).version;
    std::string_view right = split_name(b).version;
    while (!left.empty() || !right.empty()) {
        const int order = compare_runs(next_run(left), next_run(right));
        if (order != 0) return order < 0;
    }
    return false;
}

Software read_software(SharedText text, const std::string& file, const std::string& origin) {
    hardware::Loaded loaded = hardware::load_header(text.view(), file, form);
    hardware::Description& head = loaded.description;
    if (loaded.problems.empty() && split_name(head.name).version.empty()) {
        loaded.problems.push_back({head.location, "name must be NAME-VERSION, like pytorch-2.11"});
    }
    hardware::throw_problems(loaded.problems);
    const auto words = [&head](std::string_view key) {
        const auto found = head.words.texts.find(key);
        return found == head.words.texts.end() ? std::vector<std::string>() : found->second;
    };
    return {.name = head.name,
            .family = std::string(split_name(head.name).family),
            .needs = words("needs"),
            .uses = words("uses"),
            .parameters = words("parameters"),
            .program = head.words.text("program"),
            .inherits = head.inherits,
            .file = file,
            .origin = origin,
            .text = std::move(text)};
}

const Software& find_software(std::span<const Software> all, std::string_view name) {
    for (const Software& each : all) {
        if (each.name == name) return each;
    }
    const Software* const newest = newest_of(all, name);
    if (newest != nullptr) return *newest;
    if (const Software* const near = nearest_version(all, name)) return *near;
    std::vector<std::string> known;
    for (const Software& each : all) {
        known.push_back(each.name);
        known.push_back(each.family);
    }
    const std::string near_name = nearest(name, known);
    throw InputError("unknown software \"" + std::string(name.substr(0, 80)) + "\"", {},
                     near_name.empty() ? "docs/gpu-files.md lists the software that ridge knows"
                                       : "did you mean " + near_name + "?");
}

std::vector<StackPart> stack_of(std::span<const Software> all, std::string_view chosen) {
    Choice choice(all);
    if (!chosen.empty()) choice.take(find_software(all, chosen), true);
    for (const Software& each : all) {
        if (choice.is_forced(each.family) || newest_of(all, each.family) != &each) continue;
        choice.take(each, false);
    }
    std::vector<StackPart> stack;
    for (const auto& [family, versions] : choice.versions()) {
        for (const Software* const version : versions) {
            stack.push_back({.software = version, .others = other_versions(all, *version)});
        }
    }
    return stack;
}

std::vector<std::string> common_paths(std::span<const std::string> a,
                                      std::span<const std::string> b) {
    std::vector<std::string> common;
    for (const std::string& left : a) {
        for (const std::string& right : b) {
            if (hardware::lies_in(left, right)) {
                common.push_back(left);
            } else if (hardware::lies_in(right, left)) {
                common.push_back(right);
            }
        }
    }
    return common;
}

}  // namespace ridge::model
