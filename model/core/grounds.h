// The evidence of a prediction: what was measured, and how far the question lies from it.
//
//   prediction.evidence.grade()        // Grade::measured, related, distant, datasheet
//   name_of(prediction.evidence.grade())   // "measured"
//
// Method: three answers, each with few values: whose parameters they are, whether the shape and
// launch lie in the validated range, and whether the costs of another kernel stand in. The grade is
// their weakest, and the band follows from them by rules (R9 of docs/model.md). A sum has the
// weakest grade of its parts.
#pragma once

#include <cstdint>
#include <string_view>

namespace ridge::model {

/// The GPU whose measurements gave the parameters: none, so that the data sheet alone speaks; one
/// of another architecture; a relative of the same architecture; this GPU.
enum class ChipEvidence : std::uint8_t { datasheet, foreign, relative, own };

/// Whether the shape and the launch lie in the range in which the model was validated.
enum class ShapeEvidence : std::uint8_t { outside, inside };

/// Whether the kernel's own costs were measured, or another kernel's stand in.
enum class KernelEvidence : std::uint8_t { other, same };

/// How well a prediction is supported, the weakest first.
enum class Grade : std::uint8_t {
    datasheet,  ///< by the data sheet alone
    distant,    ///< by another architecture, or by a relative outside its range
    related,    ///< by a relative, or by this GPU outside its range or with another kernel
    measured    ///< by this kernel on this GPU, inside the range
};

struct Grounds {
    ChipEvidence chip = ChipEvidence::datasheet;
    ShapeEvidence shape = ShapeEvidence::outside;
    KernelEvidence kernel = KernelEvidence::same;

    [[nodiscard]] constexpr Grade grade() const {
        const bool near = shape == ShapeEvidence::inside && kernel == KernelEvidence::same;
        switch (chip) {
            case ChipEvidence::own:
                return near ? Grade::measured : Grade::related;
            case ChipEvidence::relative:
                return near ? Grade::related : Grade::distant;
            case ChipEvidence::foreign:
                return Grade::distant;
            case ChipEvidence::datasheet:
                break;
        }
        return Grade::datasheet;
    }
    friend bool operator==(const Grounds&, const Grounds&) = default;
};

[[nodiscard]] std::string_view name_of(Grade grade);
[[nodiscard]] std::string_view name_of(ChipEvidence chip);
[[nodiscard]] std::string_view name_of(ShapeEvidence shape);
[[nodiscard]] std::string_view name_of(KernelEvidence kernel);

/// "parameters of another architecture, outside the validated range": what a reader has to know.
[[nodiscard]] std::string_view describe(const Grounds& grounds);

}  // namespace ridge::model
