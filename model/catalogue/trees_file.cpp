#include "model/catalogue/trees_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "hardware/error.h"
#include "hardware/text_hash.h"
#include "hardware/units.h"
#include "model/machine/residual_parameters.h"
#include "model/machine/schema.h"

namespace ridge::model {
namespace {

using hardware::Datum;
using hardware::Loaded;

constexpr std::string_view first_line = "ridge trees 1\n";
constexpr std::array<std::string_view, 3> forest_texts{"range", "splits", "trees"};

/// A line that says what made a source.
struct Origin {
    std::string_view word;
    SharedText hardware::Source::*text;
};
constexpr std::array<Origin, 4> origins{{{"command", &hardware::Source::command},
                                         {"records", &hardware::Source::records},
                                         {"inputs", &hardware::Source::digest},
                                         {"date", &hardware::Source::date}}};

/// A line: its first word, and the rest.
struct Line {
    std::string_view word;
    std::string_view rest;
    std::int32_t number = 0;
};

/// Cuts the first word off.
std::string_view next_word(std::string_view& text) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

class Lines {
  public:
    explicit Lines(std::string_view text) : rest_(text) {}

    std::optional<Line> next() {
        if (rest_.empty()) return std::nullopt;
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        Line line{.word = {}, .rest = rest_.substr(0, end), .number = ++number_};
        if (line.rest.ends_with('\r')) line.rest.remove_suffix(1);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        line.word = next_word(line.rest);
        return line;
    }

  private:
    std::string_view rest_;
    std::int32_t number_ = 0;
};

class TreesReader {
  public:
    TreesReader(const SharedText& text, const std::string& file) : text_(text), file_(file) {}

    Loaded read() {
        loaded_.description.kind = hardware::DescriptionKind::data;
        loaded_.description.origin = file_;
        loaded_.description.location = {.file = file_, .line = 1, .column = 1};
        Lines lines(text_.view());
        lines.next();
        while (const auto line = lines.next()) {
            if (line->word == "class") {
                begin_class(*line);
            } else if (line->word == "kernel") {
                begin_kernel(*line);
            } else if (room_.empty()) {
                read_header(*line);
            } else {
                read_text(*line);
            }
        }
        end_room();
        loaded_.description.name = chip_ + "." + software_;
        return std::move(loaded_);
    }

    [[nodiscard]] TreesHeader header() const {
        return {.chip = chip_, .software = software_, .digest = digest_};
    }

  private:
    [[nodiscard]] Location at(const Line& line, std::string_view text) const {
        const char* const line_start = line.word.data();
        return {
            .file = file_,
            .line = line.number,
            .column = text.empty() ? 1 : static_cast<std::int32_t>(text.data() - line_start) + 1};
    }

    void report(const Line& line, const std::string& message) {
        loaded_.problems.push_back({at(line, line.word), message});
    }

    void read_header(const Line& line) {
        if (line.word == "chip") {
            chip_ = line.rest;
        } else if (line.word == "software") {
            software_ = line.rest;
        } else if (line.word == "digest") {
            digest_ = line.rest;
        } else if (line.word == "source") {
            read_source(line);
        } else if (SharedText* const origin = origin_of(line.word)) {
            *origin = text_.part(line.rest);
        } else {
            report(line, "unknown word \"" + std::string(line.word.substr(0, 40)) + "\"");
        }
    }

    /// What made a source, by the word of the line; null for other words.
    SharedText* origin_of(std::string_view word) {
        for (const Origin& each : origins) {
            if (each.word == word) return &(last_.*each.text);
        }
        return nullptr;
    }

    /// Keeps the source whose lines were read. Lines before the first one count for every source.
    void end_source() {
        if (last_.key.empty()) return;
        for (const Origin& each : origins) {
            SharedText& own = last_.*each.text;
            if (own.empty()) own = common_.*each.text;
        }
        loaded_.description.sources.insert_or_assign(last_.key, last_);
    }

    void read_source(const Line& line) {
        std::string_view rest = line.rest;
        const std::string key(next_word(rest));
        const std::string_view kind = next_word(rest);
        for (const auto provenance :
             {hardware::Provenance::vendor, hardware::Provenance::measured,
              hardware::Provenance::derived, hardware::Provenance::estimate}) {
            if (to_string(provenance) != kind) continue;
            if (last_.key.empty()) common_ = last_;
            end_source();
            last_ = {.key = key, .provenance = provenance, .text = std::string(rest)};
            return;
        }
        report(line, "a source is KEY vendor|measured|derived|estimate TEXT");
    }

    /// class NAME IMPLEMENTATION SPREAD SOURCE
    void begin_class(const Line& line) {
        std::string_view rest = line.rest;
        const std::string_view name = next_word(rest);
        const std::string_view implementation = next_word(rest);
        const std::string_view spread = next_word(rest);
        begin_room(line, std::string(correction_section).append(".").append(name), {}, rest);
        add("implementation", line, implementation);
        add_number("spread", line, spread);
    }

    /// kernel SECTION BELOW ABOVE SOURCE
    void begin_kernel(const Line& line) {
        std::string_view rest = line.rest;
        const std::string_view section = next_word(rest);
        const std::string_view below = next_word(rest);
        const std::string_view above = next_word(rest);
        begin_room(line, std::string(section), correction_prefix, rest);
        add_number("below", line, below);
        add_number("above", line, above);
    }

    void begin_room(const Line& line, std::string section, std::string_view prefix,
                    std::string_view rest) {
        end_source();
        end_room();
        room_line_ = line;
        room_ = std::move(section);
        prefix_ = prefix;
        source_ = next_word(rest);
        if (schema().find(path("trees")) == nullptr) {
            report(line, "unknown " + std::string(line.word) + " \"" +
                             std::string(line.rest.substr(0, line.rest.find(' '))) + "\"");
        }
        if (!loaded_.description.sources.contains(source_)) {
            report(line, "source \"" + source_ + "\" is not declared");
        }
    }

    void add_number(std::string_view part, const Line& line, std::string_view text) {
        try {
            Datum datum = datum_of(line, text);
            datum.text = {};
            datum.value = parse_number(text, std::string(part));
            loaded_.description.data.insert_or_assign(path(part), std::move(datum));
        } catch (const InputError&) {
            report(line, std::string(part) + " must be a number");
        }
    }

    void read_text(const Line& line) {
        if (line.word == "note") {
            const auto found = loaded_.description.data.find(path("implementation"));
            if (found != loaded_.description.data.end()) {
                found->second.note = text_.part(line.rest);
            }
        } else if (std::find(forest_texts.begin(), forest_texts.end(), line.word) !=
                   forest_texts.end()) {
            add(line.word, line, line.rest);
        } else {
            report(line, "unknown word \"" + std::string(line.word.substr(0, 40)) + "\"");
        }
    }

    void end_room() {
        if (room_.empty()) return;
        for (const std::string_view part : forest_texts) {
            if (loaded_.description.find(path(part)) == nullptr) {
                report(room_line_, room_ + " has no " + std::string(part));
            }
        }
    }

    [[nodiscard]] std::string path(std::string_view part) const {
        return std::string(room_).append(".").append(prefix_).append(part);
    }

    Datum datum_of(const Line& line, std::string_view text) const {
        return {.value = hardware::InWords{},
                .text = text_.part(text),
                .sources = {source_},
                .disputes = {},
                .note = {},
                .location = at(line, text),
                .inherited = false};
    }

    void add(std::string_view part, const Line& line, std::string_view text) {
        if (text.empty()) {
            report(line, std::string(part) + " is empty");
            return;
        }
        loaded_.description.data.insert_or_assign(path(part), datum_of(line, text));
    }

    const SharedText& text_;
    const std::string& file_;
    Loaded loaded_;
    std::string chip_;
    std::string software_;
    std::string digest_;
    hardware::Source last_;    ///< the source whose lines are being read
    hardware::Source common_;  ///< what was said before the first one
    std::string room_;         ///< the section being read
    std::string_view prefix_;  ///< of its fields' names
    std::string source_;
    Line room_line_;
};

std::string_view body_of(std::string_view text) {
    const std::size_t start = std::min(text.find("\nclass "), text.find("\nkernel "));
    return start == std::string_view::npos ? std::string_view() : text.substr(start + 1);
}

std::string digest_of(std::string_view body) {
    return fmt::format("{:016x}", text_hash(body));
}

void add_key(const Datum& datum, std::vector<std::string>& keys) {
    const std::string& source = datum.sources.front();
    if (std::find(keys.begin(), keys.end(), source) == keys.end()) keys.push_back(source);
}

std::string texts_of(const hardware::Description& from, const std::string& prefix) {
    std::string lines;
    for (const std::string_view part : forest_texts) {
        const Datum* const text = from.find(prefix + std::string(part));
        if (text != nullptr) lines += fmt::format("{} {}\n", part, text->text.view());
    }
    return lines;
}

std::string classes_text(const hardware::Description& from, std::vector<std::string>& keys) {
    std::string lines;
    for (std::size_t i = 0; i < residual_class_count; ++i) {
        const std::string_view name = name_of(static_cast<ResidualClass>(i));
        const std::string path = std::string(correction_section).append(".").append(name) + '.';
        const Datum* const implementation = from.find(path + "implementation");
        const Datum* const spread = from.find(path + "spread");
        if (implementation == nullptr || spread == nullptr) continue;
        add_key(*implementation, keys);
        lines += fmt::format("class {} {} {} {}\n", name, written(*implementation),
                             written(*spread), implementation->sources.front());
        if (!implementation->note.empty()) {
            lines += fmt::format("note {}\n", implementation->note.view());
        }
        lines += texts_of(from, path);
    }
    return lines;
}

std::string kernels_text(const hardware::Description& from, std::vector<std::string>& keys) {
    std::vector<std::string> sections;
    const std::string end = '.' + std::string(correction_prefix) + std::string(forest_texts.back());
    for (const auto& [path, datum] : from.data) {
        if (path.ends_with(end)) sections.push_back(path.substr(0, path.size() - end.size()));
    }
    std::sort(sections.begin(), sections.end());
    std::string lines;
    for (const std::string& section : sections) {
        const std::string path = section + '.' + std::string(correction_prefix);
        const Datum* const below = from.find(path + "below");
        const Datum* const above = from.find(path + "above");
        if (below == nullptr || above == nullptr) continue;
        add_key(*below, keys);
        lines += fmt::format("kernel {} {} {} {}\n", section, written(*below), written(*above),
                             below->sources.front());
        lines += texts_of(from, path);
    }
    return lines;
}

std::string source_lines(const hardware::Source& source) {
    std::string lines =
        fmt::format("source {} {} {}\n", source.key, to_string(source.provenance), source.text);
    for (const Origin& each : origins) {
        const SharedText& text = source.*each.text;
        if (!text.empty()) lines += fmt::format("{} {}\n", each.word, text.view());
    }
    return lines;
}

}  // namespace

bool is_trees_file(std::string_view text) {
    return text.starts_with(first_line);
}

TreesHeader read_trees_header(std::string_view text, const std::string& file) {
    const std::size_t header = text.size() - body_of(text).size();
    const SharedText shared = SharedText::copy_of(text.substr(0, header));
    TreesReader reader(shared, file);
    hardware::throw_problems(reader.read().problems);
    TreesHeader head = reader.header();
    if (head.chip.empty() || head.software.empty() || head.digest.empty()) {
        throw InputError("the file must name its chip, its software and the digest of its content",
                         {.file = file, .line = 1, .column = 1});
    }
    return head;
}

Loaded read_trees(const SharedText& text, const std::string& file) {
    return TreesReader(text, file).read();
}

std::string digest_of_trees(std::string_view text) {
    return digest_of(body_of(text));
}

std::string trees_file(const hardware::Description& corrections, const std::string& chip,
                       const std::string& software) {
    std::vector<std::string> keys;
    const std::string body = classes_text(corrections, keys) + kernels_text(corrections, keys);
    std::string text = fmt::format("{}chip {}\nsoftware {}\ndigest {}\n", first_line, chip,
                                   software, digest_of(body));
    for (const std::string& key : keys) {
        text += source_lines(corrections.sources.find(key)->second);
    }
    return text + body;
}

}  // namespace ridge::model
