// The residual correction of a GPU as its description states it: for each class of operations a sum
// of small trees, fitted to ln(measured / predicted). (docs/model.md K1 to K3)
//
//   [model.residual.decode]
//   implementation = { value = "flash3", source = "FIT" }
//   spread = { value = 0.67, source = "FIT" }
//   range = { value = "batch 0 11, keys 1 17", source = "FIT" }
//   splits = { value = "batch 25000 2000, keys 95000 4000", source = "FIT" }
//   trees = { value = "0 2 1 0 31 -4 0 12 5 ..., 2 2 0 1 ...", source = "FIT" }
//
//   const ResidualFit* const fit = machine.residuals->find(ResidualClass::decode);
//
// The names are features of the shape (`residual_features`), and `range` is the box of the data in
// these features. `splits` lists for each feature its thresholds, each with the width of its ramp;
// they are numbered from 0 in this order. A tree is the numbers of its four splits and 16 values.
// All numbers are in ten-thousandths. `residual_forest.h` evaluates the trees.
//
// A description with five classes holds some 50 KB, of which a prediction needs one class. A class
// is parsed when any thread first asks for it, and does not change afterwards.
//
// To add a class, add a name in `ResidualClass`, its row (and the names of any new features) in
// `class_table` of residual_classes.cpp, and the features of its shapes in model/residual/
// (`features.cpp` for operations that libraries run). Fit, overlays, schema, `ridge calibrate
// --full` and documentation follow from the table. Any implementation may have classes. A
// correction holds for the one it was fitted to (`implementation`), or for all implementations of a
// class whose row has the implementation as a feature.
//
// Limits: those of `residual_forest.h`.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/description.h"
#include "hardware/schema.h"
#include "model/core/implementation.h"
#include "model/machine/residual_forest.h"

namespace ridge::model {

/// Operations that share one correction.
enum class ResidualClass : std::uint8_t {
    product_16,      ///< library products of 16 bits
    product_8,       ///< fp8
    product_4,       ///< nvfp4
    prefill,         ///< causal attention over all tokens
    decode,          ///< one query
    prefill_cache8,  ///< prefill over an 8-bit cache
    decode_cache8,
    latent_prefill,
    latent_decode,
    experts,
    // based on records; the classes above are based on tables of many GPUs
    product_odd,   ///< library products of 16 bits, rows not at multiples of 16 bytes
    product_wide,  ///< library products of fp32 and tf32
    bundled_attention,
    bundled_rows,             ///< softmax, norms, reductions
    bundled_pointwise,        ///< elementwise
    bundled_movement,         ///< copies, transposes, gathers
    bundled_access,           ///< strided and misaligned reads
    torch_product_16,         ///< PyTorch's products of 16 bits, rows at multiples of 16 bytes
    torch_product_odd,        ///< 16 bits, other rows, more than 16 of them
    torch_product_odd_thin,   ///< the same, at most 16 rows
    torch_product_fp32,       ///< fp32, more than 16 rows, B by columns
    torch_product_fp32_rows,  ///< the same, B by rows
    torch_product_fp32_thin,  ///< fp32, at most 16 rows, B by columns
    torch_product_fp32_thin_rows,
    torch_product_tf32,  ///< tf32, B by columns
    torch_product_tf32_rows,
    torch_product_8,  ///< fp8 and int8
    torch_forward,    ///< scaled_dot_product_attention, every backend
    torch_backward,
    torch_rows,    ///< reductions, softmax, norms, losses, scans
    torch_streams  ///< pointwise, copies, cat, gather, optimizers
};
inline constexpr std::size_t residual_class_count = 31;
[[nodiscard]] std::string_view name_of(ResidualClass residual_class);

/// Whether the class is of PyTorch's kernels.
[[nodiscard]] constexpr bool is_torch(ResidualClass residual_class) {
    return residual_class >= ResidualClass::torch_product_16;
}

/// Names of features, in the order of their values.
using FeatureNames = std::span<const std::string_view>;

/// The names of a class's features, in the order in which `model/residual/features.h` gives them.
[[nodiscard]] FeatureNames residual_features(ResidualClass residual_class);

/// Whether a correction holds for all kernels of the class, with one feature to tell them apart.
/// Its implementation is then `auto`.
[[nodiscard]] bool has_kernel_feature(ResidualClass residual_class);

/// Whether the state of the L2 is a feature, `l2`: 0 warm, 1 cold, 2 dirty.
[[nodiscard]] bool has_l2_feature(ResidualClass residual_class);

/// Whether the records of one GPU alone determine the class. If a GPU's parameters are fitted anew,
/// such a class must be fitted anew too.
[[nodiscard]] bool rests_on_records(ResidualClass residual_class);

/// The largest factor of a correction; the smallest is its reciprocal. (K3)
[[nodiscard]] double largest_correction(ResidualClass residual_class);
[[nodiscard]] double largest_correction();                                  ///< of any class
[[nodiscard]] double largest_log_correction(ResidualClass residual_class);  ///< its logarithm

/// The box of the data.
struct ResidualRange {
    FeatureValues least{};
    FeatureValues most{};
};

/// The correction of one class.
struct ResidualFit {
    Implementation implementation = Implementation::automatic;
    double spread = 1.0;  ///< spread of the corrected residuals over that of the analytic model's
    ResidualRange range;
    ResidualForest forest;
};

/// The correction of one class, parsed when it is first asked for.
class LazyResidualFit {
  public:
    explicit LazyResidualFit(ResidualFit fit) : is_read_(true), fit_(std::move(fit)) {}

    /// `read` runs once, and again if it threw.
    explicit LazyResidualFit(std::function<ResidualFit()> read) : read_(std::move(read)) {}

    [[nodiscard]] const ResidualFit& fit() const {
        if (!is_read_.load(std::memory_order_acquire)) read_now();
        return fit_;
    }

  private:
    void read_now() const;

    std::function<ResidualFit()> read_;
    mutable std::mutex reading_;
    mutable std::atomic<bool> is_read_ = false;
    mutable ResidualFit fit_;
};

/// All corrections of a GPU. A copy shares those that it does not replace.
class Residuals {
  public:
    /// Null if there is none. Throws an InputError that names a field that cannot be parsed.
    [[nodiscard]] const ResidualFit* find(ResidualClass residual_class) const {
        const auto& found = classes_[static_cast<std::size_t>(residual_class)];
        return found ? &found->fit() : nullptr;
    }

    void set(ResidualClass residual_class, ResidualFit fit) {
        set(residual_class, std::make_shared<LazyResidualFit>(std::move(fit)));
    }
    void set(ResidualClass residual_class, std::shared_ptr<const LazyResidualFit> fit) {
        classes_[static_cast<std::size_t>(residual_class)] = std::move(fit);
    }
    void drop(ResidualClass residual_class) { set(residual_class, nullptr); }

  private:
    std::array<std::shared_ptr<const LazyResidualFit>, residual_class_count> classes_;
};

/// The fields of a description that state corrections.
[[nodiscard]] std::vector<hardware::Field> residual_schema();

/// The corrections of a description; empty if it has none. Throws an InputError that names a
/// missing field; the contents of a field are parsed by `Residuals::find`.
[[nodiscard]] std::shared_ptr<const Residuals> read_residuals(const hardware::Description& gpu);

/// The correction of one kernel of an engine, in fields of the kernel's own section. (docs/model.md G8)
struct KernelCorrection {
    ResidualRange range;
    ResidualForest forest;
    double below = 0.0;  ///< half-widths of the 80 % band with it, in ln
    double above = 0.0;
};

struct CorrectionField {
    std::string_view name;
    hardware::ValueKind kind;
    std::string_view meaning;
};
inline constexpr std::string_view correction_prefix = "correction_";  ///< of these fields
inline constexpr std::string_view correction_below_name = "correction_below";
inline constexpr std::string_view correction_above_name = "correction_above";
inline constexpr std::size_t correction_text_count = 3;  ///< the first fields
inline constexpr std::array<CorrectionField, 5> correction_fields{
    {{"correction_range", hardware::ValueKind::text,
      "residual correction: least and largest value of each feature in the data"},
     {"correction_splits", hardware::ValueKind::text,
      "residual correction: thresholds of features, each with the width of its ramp, x 10000"},
     {"correction_trees", hardware::ValueKind::text,
      "residual correction: splits and leaves of each tree, in ln(measured / predicted) x 10000"},
     {correction_below_name, hardware::ValueKind::number,
      "ln of the corrected time over the lower end of its 80 % band"},
     {correction_above_name, hardware::ValueKind::number,
      "ln of the upper end of its 80 % band over the corrected time"}}};

/// Empty if the section has none; InputError if it has a part of it only, or text that is no correction.
[[nodiscard]] std::optional<KernelCorrection> read_kernel_correction(
    const hardware::Description& gpu, const std::string& section, FeatureNames names);

/// The values of the first of `correction_fields`.
[[nodiscard]] std::array<std::string, correction_text_count> correction_texts(
    FeatureNames names, const KernelCorrection& correction);

/// The values of the fields `range`, `splits` and `trees`, as a description states them.
[[nodiscard]] std::string range_text(FeatureNames names, const ResidualRange& range);
[[nodiscard]] std::string splits_text(FeatureNames names, const ResidualForest& forest);
[[nodiscard]] std::string trees_text(const ResidualForest& forest);

}  // namespace ridge::model
