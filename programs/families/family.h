// A family of models as one data file: which configs it takes, the fields it reads, how its layers
// differ, its weights, and its operations in order.
//
//   const std::shared_ptr<const Family> family = find_family("llama");
//   const Family mine = read_family(text, "my-family.toml");       // InputError with file and line
//
// docs/families.md describes the file. Sections are lines of one language (expression.h):
//   fields           vocabulary = count() as "vocab_size"     read from the config, with a default
//   model            rotary = 'halves'                        the same for all layers
//   kinds            sliding = i % 2 == 0                     by which layers differ
//   layer            window = sliding_window if sliding else 0
//   checks           heads = between(1, 4096) as "num_attention_heads"
//   weights, layer_weights, last_weights     up_proj = product(shard(inner), hidden)
//   run              procedures (procedure.h)
// A file with `base = "decoder"` starts from that file; what it states replaces the line of the same
// name. Names may be used before the line that defines them, in the same section or a later one.
// Method: everything is parsed and resolved to slots once; a family is then read-only.
// Limits: files of 1 MiB, 8 bases in a row, 1000 names.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hardware/document.h"
#include "hardware/embedded.h"
#include "hardware/whole_expression.h"

namespace ridge::programs {

/// The embedded family files, sorted by path; the build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_families();

/// Symbols that a step sets; they come first in the table.
enum class StepSymbol : std::uint8_t {
    batch,
    seq,
    fresh,   ///< tokens of a sequence that go through the layers
    tokens,  ///< of all sequences
    seen,    ///< keys of a sequence, with the new ones
    decode,
    train,
    cached,
    mixed,
    last,        ///< only the last token's logits
    recomputes,  ///< layers run again for their gradients
    bytes,       ///< of an element of the model's type
    tp,
    ep,
    rows_apart,    ///< of the software
    images,        ///< of a sequence
    image_width,   ///< pixels
    image_height,  ///< pixels
    audio,         ///< seconds of sound of a sequence
    drafting,      ///< heads for further tokens run
    i              ///< number of a layer, from 0
};
inline constexpr std::array<std::string_view, 21> step_symbol_names{
    "batch",      "seq",    "fresh",       "tokens",       "seen",  "decode",   "train",
    "cached",     "mixed",  "last",        "recomputes",   "bytes", "tp",       "ep",
    "rows_apart", "images", "image_width", "image_height", "audio", "drafting", "i"};

/// One line of a section: the name that it defines, its text and its place.
struct FamilyLine {
    std::string name;
    std::string text;
    Location place;
};

enum class FamilySection : std::uint8_t {
    fields,
    model,
    kinds,
    layer,
    checks,
    weights,
    layer_weights,
    last_weights
};
inline constexpr std::array<std::string_view, 8> section_names{
    "fields", "model", "kinds", "layer", "checks", "weights", "layer_weights", "last_weights"};

enum class FieldKind : std::uint8_t {
    count,
    counts,
    thousandths,
    flag,
    number,
    word,
    ending,   ///< the word that a text, or the first of a list, ends with
    members,  ///< how many an object has
    words,
    letters
};

struct Field {
    std::int32_t slot = 0;
    FieldKind kind = FieldKind::count;
    std::vector<std::string> paths{};  ///< names in the config; none: always the default
    std::int32_t otherwise = -1;       ///< the default; -1: none
    double share = 0.0;                ///< the default of a number
    bool optional = false;
    std::vector<std::int64_t> words{};  ///< that are allowed; none: all
};

struct Definition {
    std::int32_t slot = 0;
    std::int32_t value = -1;
    bool changes = false;  ///< depends on the step
};

struct Check {
    enum class Kind : std::uint8_t { between, divides, refuse };
    Kind kind = Kind::between;
    std::int32_t value = -1;
    std::int32_t least = -1;  ///< or the number that must be divided
    std::int32_t most = -1;
    std::int32_t condition = -1;
    std::string name{};
    std::string other{};
};

enum class WeightRole : std::uint8_t { embedding, product, expert, router, norm, bias, head };

struct WeightRule {
    std::string name;
    WeightRole role = WeightRole::product;
    bool transposed = false;
    bool of_layer = false;
    bool last = false;  ///< stands behind the layers
    std::int32_t rows = -1;
    std::int32_t columns = -1;
    std::int32_t stacked = -1;
    std::int32_t bias = -1;
    std::int32_t condition = -1;
    std::string path{};       ///< of the module in a layer of the checkpoint
    std::string group{};      ///< products with the same input, which a software may run as one
    std::int8_t element = 0;  ///< bytes of an element, if not those of the model's type
    bool table = false;       ///< of whole numbers, which are no parameters
};

/// The text of a procedure: its header and its lines.
struct ProcedureText {
    std::string name;
    std::vector<std::string> parameters{};
    std::string module{};
    std::vector<FamilyLine> lines{};
    Location place{};
};

class Procedures;

struct Family {
    std::string name;
    std::vector<std::string> model_types{};
    std::vector<std::string> architectures{};
    std::vector<std::string> ignored{};  ///< fields that change no cost
    std::vector<std::string> symbols{};
    std::unordered_map<std::string, std::int32_t> slots{};
    std::map<std::int32_t, std::string> field_names{};  ///< of symbols, in the config
    std::unordered_map<std::string, std::int64_t> words{};
    ExpressionNodes nodes{};
    std::vector<Field> fields{};
    std::vector<Definition> model{};
    std::vector<Definition> kinds{};
    std::vector<Definition> layer{};
    std::vector<Check> checks{};
    std::vector<WeightRule> weights{};  ///< before, in and after the layers
    std::vector<ProcedureText> run{};

    [[nodiscard]] std::int32_t slot_of(std::string_view symbol) const;
    [[nodiscard]] std::int64_t word_of(const std::string& text) const;  ///< -1 if unknown
    [[nodiscard]] std::string word_text(std::int64_t word) const;

    /// Procedures compiled with the rules of a software, made when they are first asked for.
    struct Compiled {
        std::mutex lock;
        std::map<std::string, std::shared_ptr<const Procedures>, std::less<>> by_software;
    };
    std::shared_ptr<Compiled> compiled = std::make_shared<Compiled>();
};

/// InputError names the file and the line. `base` of the file is an embedded family.
[[nodiscard]] std::shared_ptr<const Family> read_family(std::string_view text,
                                                        const std::string& file);
/// The embedded family of that name (the stem of its file).
[[nodiscard]] std::shared_ptr<const Family> find_family(const std::string& name);
/// The embedded family that takes this model_type, else this architecture; nullptr if none does.
[[nodiscard]] std::shared_ptr<const Family> family_of(const std::string& model_type,
                                                      std::span<const std::string> architectures);
/// All values of model_type that embedded families take.
[[nodiscard]] std::vector<std::string> known_families();

/// Splits a `run` text into procedures.
void add_procedures(std::string_view text, const Location& begin,
                    std::vector<ProcedureText>& procedures);

/// Finds names in a family while its lines are parsed, and in its procedures.
class FamilyNames : public Names {
  public:
    explicit FamilyNames(Family& family) : family_(family) {}
    std::int32_t symbol(std::string_view name) override { return family_.slot_of(name); }
    std::int32_t local(std::string_view /*name*/) override { return -1; }
    std::int64_t word(std::string_view text) override {
        return family_.words
            .emplace(std::string(text), static_cast<std::int64_t>(family_.words.size()) + 1)
            .first->second;
    }
    [[nodiscard]] std::vector<std::string> all() const override { return family_.symbols; }

  private:
    Family& family_;
};

}  // namespace ridge::programs
