#include "programs/traces/hlo.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <protozero/pbf_reader.hpp>

#include "hardware/json.h"
#include "programs/traces/hlo_inputs.h"
#include "programs/traces/trace.h"

namespace ridge::programs {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// The fields of xla/service/hlo.proto and xla/xla_data.proto that are read (openxla/xla).
struct ProtoField {
    static constexpr std::uint32_t hlo_module = 1;
};
struct ModuleField {
    static constexpr std::uint32_t name = 1;
    static constexpr std::uint32_t computations = 3;
    static constexpr std::uint32_t entry_computation_id = 6;
    static constexpr std::uint32_t schedule = 7;
};
struct ScheduleField {
    static constexpr std::uint32_t sequences = 1;     // a map: key 1, value 2
    static constexpr std::uint32_t instructions = 1;  // of a sequence
};
struct ComputationField {
    static constexpr std::uint32_t instructions = 2;
    static constexpr std::uint32_t id = 5;
};
struct InstructionField {
    static constexpr std::uint32_t name = 1;
    static constexpr std::uint32_t opcode = 2;
    static constexpr std::uint32_t shape = 3;
    static constexpr std::uint32_t custom_call_target = 28;
    static constexpr std::uint32_t dot_dimension_numbers = 30;
    static constexpr std::uint32_t id = 35;
    static constexpr std::uint32_t operand_ids = 36;
    static constexpr std::uint32_t called_computation_ids = 38;
    static constexpr std::uint32_t backend_config = 43;
    static constexpr std::uint32_t precision_config = 51;
};
struct ShapeField {
    static constexpr std::uint32_t element_type = 2;
    static constexpr std::uint32_t dimensions = 3;
    static constexpr std::uint32_t tuple_shapes = 4;
    static constexpr std::uint32_t layout = 5;          // its first field: minor_to_major
    static constexpr std::uint32_t minor_to_major = 1;  // of a layout
};
struct DotField {
    static constexpr std::uint32_t a_sum = 1;
    static constexpr std::uint32_t b_sum = 2;
    static constexpr std::uint32_t a_batch = 3;
    static constexpr std::uint32_t b_batch = 4;
};

constexpr std::size_t most_dims = 16;
constexpr std::size_t most_operands = 1024;

/// Repeated numbers, packed or not, up to a count.
void take_numbers(std::vector<std::int64_t>& into, pbf_reader& reader, std::size_t most) {
    if (reader.wire_type() == pbf_wire_type::varint) {
        const std::int64_t value = reader.get_int64();
        if (into.size() < most) into.push_back(value);
    } else if (reader.wire_type() == pbf_wire_type::length_delimited) {
        for (const std::int64_t value : reader.get_packed_int64()) {
            if (into.size() == most) break;
            into.push_back(value);
        }
    } else {
        reader.skip();
    }
}

std::int64_t number_in(pbf_reader& reader) {
    if (reader.wire_type() == pbf_wire_type::varint) return reader.get_int64();
    reader.skip();
    return 0;
}

/// Empty for fields of another encoding.
protozero::data_view bytes_in(pbf_reader& reader) {
    if (reader.wire_type() == pbf_wire_type::length_delimited) return reader.get_view();
    reader.skip();
    return {};
}

std::string text_in(pbf_reader& reader) {
    const protozero::data_view view = bytes_in(reader);
    return {view.data(), std::min(view.size(), longest_text)};
}

/// The members of a tuple stand beside each other, also those of tuples in it.
void take_shapes(std::vector<HloShape>& into, pbf_reader reader, int depth) {
    HloShape shape;
    bool tuple = false;
    std::vector<std::int64_t> order;
    while (reader.next()) {
        switch (reader.tag()) {
            case ShapeField::element_type:
                shape.type = number_in(reader);
                break;
            case ShapeField::dimensions:
                take_numbers(shape.dims, reader, most_dims);
                break;
            case ShapeField::tuple_shapes:
                tuple = true;
                if (const pbf_reader inner(bytes_in(reader));
                    depth > 0 && into.size() < most_operands) {
                    take_shapes(into, inner, depth - 1);
                }
                break;
            case ShapeField::layout:
                for (pbf_reader layout(bytes_in(reader)); layout.next(ShapeField::minor_to_major);)
                    take_numbers(order, layout, most_dims);
                break;
            default:
                reader.skip();
        }
    }
    if (!order.empty()) shape.minor = order.front();
    if (!tuple) into.push_back(std::move(shape));
}

/// An instruction as it stands in the file, with numbers for its operands.
struct Raw {
    HloInstruction seen;
    HloDot dot;
    std::int64_t id = 0;
    std::vector<std::int64_t> operands{};
    std::vector<std::int64_t> called{};
    std::string config{};
};

void take_dot(HloDot& dot, pbf_reader reader) {
    while (reader.next()) {
        switch (reader.tag()) {
            case DotField::a_sum:
                take_numbers(dot.a_sum, reader, most_dims);
                break;
            case DotField::b_sum:
                take_numbers(dot.b_sum, reader, most_dims);
                break;
            case DotField::a_batch:
                take_numbers(dot.a_batch, reader, most_dims);
                break;
            case DotField::b_batch:
                take_numbers(dot.b_batch, reader, most_dims);
                break;
            default:
                reader.skip();
        }
    }
}

/// Whether an operand asks for more than the default, or an algorithm is named.
bool is_exact(pbf_reader precision) {
    std::vector<std::int64_t> asked;
    while (precision.next()) take_numbers(asked, precision, most_dims);
    return std::any_of(asked.begin(), asked.end(), [](std::int64_t each) { return each != 0; });
}

Raw raw_of(pbf_reader reader) {
    Raw raw;
    while (reader.next()) {
        switch (reader.tag()) {
            case InstructionField::name:
                raw.seen.name = text_in(reader);
                break;
            case InstructionField::opcode:
                raw.seen.opcode = text_in(reader);
                break;
            case InstructionField::shape:
                take_shapes(raw.seen.results, pbf_reader(bytes_in(reader)), 2);
                break;
            case InstructionField::custom_call_target:
                raw.seen.target = text_in(reader);
                break;
            case InstructionField::dot_dimension_numbers:
                take_dot(raw.dot, pbf_reader(bytes_in(reader)));
                break;
            case InstructionField::id:
                raw.id = number_in(reader);
                break;
            case InstructionField::operand_ids:
                take_numbers(raw.operands, reader, most_operands);
                break;
            case InstructionField::called_computation_ids:
                take_numbers(raw.called, reader, most_dims);
                break;
            case InstructionField::backend_config:
                raw.config = text_in(reader);
                break;
            case InstructionField::precision_config:
                raw.dot.exact = is_exact(pbf_reader(bytes_in(reader)));
                break;
            default:
                reader.skip();
        }
    }
    return raw;
}

bool is_library(const HloInstruction& instruction) {
    return instruction.opcode == "custom-call" && instruction.target.starts_with("__cublas$");
}

/// Dimensions of a dot as a library's call has them: lists of numbers in quotes.
std::vector<std::int64_t> quoted_numbers(const Json* list) {
    std::vector<std::int64_t> numbers;
    if (list == nullptr) return numbers;
    for (const Json& item : list->items()) {
        const std::string* const text = item.if_text();
        const auto inner = text != nullptr ? Json::parse(*text) : std::optional<Json>(item);
        if (const auto value = inner ? inner->if_whole() : std::nullopt) numbers.push_back(*value);
    }
    return numbers;
}

/// Of a library's product, from the JSON that configures it.
std::optional<HloDot> configured_dot(const Raw& raw) {
    const std::vector<HloShape>& operands = raw.seen.operands;
    const auto config = Json::parse(raw.config);
    const Json* const gemm = config ? config->find("gemm_backend_config") : nullptr;
    const Json* const dims = gemm != nullptr ? gemm->find("dot_dimension_numbers") : nullptr;
    if (dims == nullptr || operands.size() < 2) return {};
    HloDot dot{.a = operands[0],
               .b = operands[1],
               .a_sum = quoted_numbers(dims->find("lhs_contracting_dimensions")),
               .b_sum = quoted_numbers(dims->find("rhs_contracting_dimensions")),
               .a_batch = quoted_numbers(dims->find("lhs_batch_dimensions")),
               .b_batch = quoted_numbers(dims->find("rhs_batch_dimensions"))};
    if (const Json* const asked = gemm->find("precision_config")) {
        const Json* const each = asked->find("operand_precision");
        for (const Json& word : each != nullptr ? each->items() : std::vector<Json>()) {
            const std::string* const text = word.if_text();
            if (text != nullptr && *text != "DEFAULT") dot.exact = true;
        }
    }
    return dot;
}

/// Opcodes whose traffic their shapes do not tell, or whose work is more than traffic.
bool is_opaque(std::string_view opcode) {
    constexpr std::array<std::string_view, 13> opaque{
        "gather", "scatter", "dynamic-slice", "dynamic-update-slice", "sort",
        "while",  "call",    "conditional",   "custom-call",          "convolution",
        "fft",    "rng",     "cholesky"};
    return std::find(opaque.begin(), opaque.end(), opcode) != opaque.end();
}

/// What a fusion's computation holds.
struct Inside {
    std::vector<HloDot> dots{};
    bool opaque = false;
};

std::string kernel_name(std::string_view instruction) {
    std::string name(instruction);
    for (char& letter : name) {
        if (letter == '.' || letter == '-') letter = '_';
    }
    return name;
}

/// A program as far as it was read.
struct Program {
    std::string name;
    std::vector<std::pair<std::int64_t, HloInstruction>> found{};  ///< with their numbers
    std::vector<std::int64_t> order{};                             ///< of the entry computation
    std::string damage;
};

/// Reads one program and remembers where it is, so that damage can be named.
class HloReader {
  public:
    Program read(std::string_view proto) {
        try {
            pbf_reader reader(proto.data(), proto.size());
            while (reader.next()) {
                if (reader.tag() == ProtoField::hlo_module) {
                    read_module(pbf_reader(bytes_in(reader)));
                } else {
                    reader.skip();
                }
            }
        } catch (const protozero::exception& error) {
            program_.damage = place() + " (" + error.what() + ")";
        }
        return std::move(program_);
    }

  private:
    [[nodiscard]] std::string place() const {
        std::string path = "hlo_module";
        if (computation_ >= 0) path += ".computations[" + std::to_string(computation_) + "]";
        if (instruction_ >= 0) path += ".instructions[" + std::to_string(instruction_) + "]";
        return path;
    }

    void read_module(pbf_reader reader) {
        while (reader.next()) {
            switch (reader.tag()) {
                case ModuleField::name:
                    program_.name = text_in(reader);
                    break;
                case ModuleField::computations:
                    ++computation_;
                    read_computation(pbf_reader(bytes_in(reader)));
                    instruction_ = -1;
                    break;
                case ModuleField::entry_computation_id:
                    entry_ = number_in(reader);
                    break;
                case ModuleField::schedule:
                    read_schedule(pbf_reader(bytes_in(reader)));
                    break;
                default:
                    reader.skip();
            }
        }
    }

    /// Operands stand before the instructions that read them, and called computations before their callers.
    void read_computation(pbf_reader reader) {
        std::unordered_map<std::int64_t, std::vector<HloShape>> shapes;
        Inside inside;
        std::int64_t id = -1;
        while (reader.next()) {
            if (reader.tag() == ComputationField::id) {
                id = number_in(reader);
            } else if (reader.tag() == ComputationField::instructions) {
                ++instruction_;
                Raw raw = raw_of(pbf_reader(bytes_in(reader)));
                for (const std::int64_t operand : raw.operands) {
                    const auto found = shapes.find(operand);
                    const bool one = found != shapes.end() && found->second.size() == 1;
                    raw.seen.operands.push_back(one ? found->second.front() : HloShape{});
                }
                shapes[raw.id] = raw.seen.results;
                take(std::move(raw), inside);
            } else {
                reader.skip();
            }
        }
        insides_[id] = std::move(inside);
    }

    void take(Raw raw, Inside& inside) {
        const std::vector<HloShape>& operands = raw.seen.operands;
        if (raw.seen.opcode == "dot" && operands.size() >= 2) {
            raw.dot.a = operands[0];
            raw.dot.b = operands[1];
            inside.dots.push_back(std::move(raw.dot));
            return;
        }
        inside.opaque = inside.opaque || is_opaque(raw.seen.opcode);
        if (raw.seen.opcode == "fusion") {
            const auto called = raw.called.empty() ? insides_.end() : insides_.find(raw.called[0]);
            const bool known = called != insides_.end();
            if (known && called->second.dots.size() == 1 && !called->second.opaque) {
                raw.seen.dot = called->second.dots.front();
            }
            raw.seen.whole = known && called->second.dots.empty() && !called->second.opaque;
            inside.opaque = inside.opaque || !raw.seen.whole;
        } else if (is_library(raw.seen)) {
            raw.seen.dot = configured_dot(raw);
        } else {
            return;
        }
        raw.seen.inputs = inputs_of(raw.seen);
        program_.found.emplace_back(raw.id, std::move(raw.seen));
    }

    void read_schedule(pbf_reader reader) {
        while (reader.next()) {
            if (reader.tag() != ScheduleField::sequences) {
                reader.skip();
                continue;
            }
            std::int64_t computation = -1;
            std::vector<std::int64_t> order;
            for (pbf_reader entry(bytes_in(reader)); entry.next();) {
                if (entry.tag() == 1) {
                    computation = number_in(entry);
                } else {
                    pbf_reader sequence(bytes_in(entry));
                    while (sequence.next(ScheduleField::instructions))
                        take_numbers(order, sequence, static_cast<std::size_t>(-1));
                }
            }
            if (computation == entry_) program_.order = std::move(order);
        }
    }

    Program program_;
    std::int64_t entry_ = -1;
    std::int64_t computation_ = -1;
    std::int64_t instruction_ = -1;
    std::unordered_map<std::int64_t, Inside> insides_;
};

}  // namespace

std::string HloModules::add(std::string_view proto) {
    Program program = HloReader().read(proto);
    if (program.name.empty()) return program.damage;
    const auto [place, added] = modules_.try_emplace(program.name);
    Module& module = place->second;
    std::unordered_map<std::int64_t, std::string> calls;
    for (auto& [id, instruction] : program.found) {
        std::string name = kernel_name(instruction.name);
        if (is_library(instruction)) calls.emplace(id, name);
        const auto [at, fresh] = module.instructions.try_emplace(std::move(name), instruction);
        // Which of two that differ a kernel belongs to cannot be told.
        if (!fresh && at->second.inputs != instruction.inputs) at->second.inputs.clear();
    }
    module.library_calls.clear();
    if (!added) return program.damage;
    for (const std::int64_t id : program.order) {
        const auto call = calls.find(id);
        if (call != calls.end()) module.library_calls.push_back(call->second);
    }
    return program.damage;
}

bool HloModules::knows(std::string_view module) const {
    return modules_.find(module) != modules_.end();
}

const HloInstruction* HloModules::find(std::string_view module, std::string_view name) const {
    const auto found = modules_.find(module);
    if (found == modules_.end()) return nullptr;
    const auto instruction = found->second.instructions.find(kernel_name(name));
    return instruction == found->second.instructions.end() ? nullptr : &instruction->second;
}

std::vector<const HloInstruction*> HloModules::library_calls(std::string_view module) const {
    std::vector<const HloInstruction*> calls;
    const auto found = modules_.find(module);
    if (found == modules_.end()) return calls;
    for (const std::string& name : found->second.library_calls) calls.push_back(find(module, name));
    return calls;
}

}  // namespace ridge::programs
