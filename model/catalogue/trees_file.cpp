#include "model/catalogue/trees_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "hardware/error.h"
#include "hardware/units.h"
#include "model/machine/residual_parameters.h"
#include "model/machine/schema.h"

namespace ridge::model {
namespace {

using hardware::Datum;
using hardware::Loaded;

constexpr std::string_view first_line = "ridge trees 1\n";

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
            } else if (class_.empty()) {
                read_header(*line);
            } else {
                read_text(*line);
            }
        }
        end_class();
        for (auto& [key, source] : loaded_.description.sources) {
            source.command = command_;
            source.records = records_;
            source.digest = inputs_;
            source.date = date_;
        }
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
        } else if (line.word == "command") {
            command_ = text_.part(line.rest);
        } else if (line.word == "records") {
            records_ = text_.part(line.rest);
        } else if (line.word == "inputs") {
            inputs_ = text_.part(line.rest);
        } else if (line.word == "date") {
            date_ = text_.part(line.rest);
        } else if (line.word == "source") {
            read_source(line);
        } else {
            report(line, "unknown word \"" + std::string(line.word.substr(0, 40)) + "\"");
        }
    }

    void read_source(const Line& line) {
        std::string_view rest = line.rest;
        const std::string key(next_word(rest));
        const std::string_view kind = next_word(rest);
        for (const auto provenance :
             {hardware::Provenance::vendor, hardware::Provenance::measured,
              hardware::Provenance::derived, hardware::Provenance::estimate}) {
            if (to_string(provenance) != kind) continue;
            loaded_.description.sources.insert_or_assign(
                key,
                hardware::Source{.key = key, .provenance = provenance, .text = std::string(rest)});
            return;
        }
        report(line, "a source is KEY vendor|measured|derived|estimate TEXT");
    }

    /// class NAME IMPLEMENTATION SPREAD SOURCE
    void begin_class(const Line& line) {
        end_class();
        class_line_ = line;
        std::string_view rest = line.rest;
        class_ = next_word(rest);
        const std::string_view implementation = next_word(rest);
        const std::string_view spread = next_word(rest);
        source_ = next_word(rest);
        if (schema().find(path("trees")) == nullptr) {
            report(line, "unknown class \"" + class_ + "\"");
        }
        if (!loaded_.description.sources.contains(source_)) {
            report(line, "source \"" + source_ + "\" is not declared");
        }
        add("implementation", line, implementation);
        try {
            Datum datum = datum_of(line, spread);
            datum.text = {};
            datum.value = parse_number(spread, "spread");
            loaded_.description.data.insert_or_assign(path("spread"), std::move(datum));
        } catch (const InputError&) {
            report(line, "the spread must be a number");
        }
    }

    void read_text(const Line& line) {
        if (line.word == "note") {
            const auto found = loaded_.description.data.find(path("implementation"));
            if (found != loaded_.description.data.end()) {
                found->second.note = text_.part(line.rest);
            }
        } else if (line.word == "range" || line.word == "splits" || line.word == "trees") {
            add(line.word, line, line.rest);
        } else {
            report(line, "unknown word \"" + std::string(line.word.substr(0, 40)) + "\"");
        }
    }

    void end_class() {
        if (class_.empty()) return;
        for (const std::string_view part : {"range", "splits", "trees"}) {
            if (loaded_.description.find(path(part)) == nullptr) {
                report(class_line_, "class " + class_ + " has no " + std::string(part));
            }
        }
    }

    [[nodiscard]] std::string path(std::string_view part) const {
        return std::string(correction_section).append(".").append(class_).append(".").append(part);
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
    SharedText command_;
    SharedText records_;
    SharedText inputs_;
    SharedText date_;
    std::string class_;  ///< the one being read
    std::string source_;
    Line class_line_;
};

std::string_view body_of(std::string_view text) {
    const std::size_t start = text.find("\nclass ");
    return start == std::string_view::npos ? std::string_view() : text.substr(start + 1);
}

std::string digest_of(std::string_view body) {
    constexpr std::uint64_t basis = 0xcbf29ce484222325U;
    constexpr std::uint64_t prime = 0x100000001b3U;
    std::uint64_t hash = basis;
    for (const char letter : body) hash = (hash ^ static_cast<unsigned char>(letter)) * prime;
    return fmt::format("{:016x}", hash);
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
                       const std::string& software, const std::vector<std::string>& header) {
    std::string body;
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < residual_class_count; ++i) {
        const std::string_view name = name_of(static_cast<ResidualClass>(i));
        const std::string path = std::string(correction_section).append(".").append(name);
        const Datum* const implementation = corrections.find(path + ".implementation");
        const Datum* const spread = corrections.find(path + ".spread");
        if (implementation == nullptr || spread == nullptr) continue;
        const std::string& source = implementation->sources.front();
        if (std::find(keys.begin(), keys.end(), source) == keys.end()) keys.push_back(source);
        body += fmt::format("class {} {} {} {}\n", name, written(*implementation), written(*spread),
                            source);
        if (!implementation->note.empty()) {
            body += fmt::format("note {}\n", implementation->note.view());
        }
        for (const std::string_view part : {"range", "splits", "trees"}) {
            const Datum* const text = corrections.find(path + "." + std::string(part));
            if (text != nullptr) body += fmt::format("{} {}\n", part, text->text.view());
        }
    }
    std::string text = fmt::format("{}chip {}\nsoftware {}\ndigest {}\n", first_line, chip,
                                   software, digest_of(body));
    for (const std::string& line : header) text += line + "\n";
    for (const std::string& key : keys) {
        const hardware::Source& source = corrections.sources.find(key)->second;
        text += fmt::format("source {} {} {}\n", key, to_string(source.provenance), source.text);
    }
    return text + body;
}

}  // namespace ridge::model
