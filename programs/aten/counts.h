// What a framework's kernel template does for a call, as counts: bytes, elements, indices, rows. The laws
// of templates.h are linear in them. (docs/model.md S11)
//
//   const Counts counts = counts_of(parse_call("aten::scatter_add_", inputs), ElementType::unknown);
//   counts[Count::values];      // elements that are added
//   counts[Count::collisions];  // the same, times log2 of how many meet in one place
//
// Method: from shapes, strides and types alone. A broadcast tensor counts its stored elements as bytes
// and all of them as elements. The result has the sizes that the call gives, else those of the largest
// tensor. Limits: values of indices are not recorded, so they are taken to be spread evenly.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "programs/aten/call.h"

namespace ridge::programs {

enum class Count : std::uint8_t {
    bytes,       ///< of all tensors and the result
    elements,    ///< of the largest tensor or the result
    results,     ///< elements of the result
    strided,     ///< elements, if tensors of this size do not lie alike without gaps; else 0
    wide,        ///< elements, if they have 4 bytes or more; else 0
    index,       ///< elements of tensors of integers
    values,      ///< elements of the last tensor; what a generated kernel may add
    table,       ///< elements of the first tensor
    rows,        ///< of the first tensor, along the dimensions that the call names, else the last
    columns,     ///< elements of a row
    sorting,     ///< elements times log2 of the columns
    collisions,  ///< values times log2 of values over table, at least 0
    meetings,    ///< values for each place, which wait for one another if they are added
    matrices,    ///< of the last two dimensions of the first tensor
    side,        ///< the larger of these dimensions
    solving,     ///< elements of the matrices times `side`
    outer,       ///< elements over those of dimension 1: images and pixels
    channels,    ///< dimension 1 of the first tensor; of a convolution its groups
    window,  ///< results times the elements of the window that each takes; of a convolution or a recurrent
             ///< layer its products; of a generated kernel elements times tensors
    narrow,   ///< elements, if they have less than 4 bytes; else 0
    planes,   ///< `outer`, if channels come first in memory; else 0
    pixels,   ///< elements, if channels come last in memory; else 0
    weights,  ///< elements of a convolution's filters
    across,  ///< elements, if the neighbours in memory are of different rows or, in a loop over tensors, lie
             ///< apart in one of them; else 0
    unaligned,  ///< elements, if rows do not begin at multiples of 16 bytes; else 0
    indexed,  ///< elements times the dimensions of the loop over all tensors, if it is not one over memory; else 0
    launches,  ///< kernels of the call, if a trace has them; else 0
    threads,   ///< of all its kernels
    blocks,    ///< of all its kernels
    share,     ///< elements for each block of the longest kernel
    turned,  ///< elements, if the blocks of that kernel form a plane, as where an image is turned; else 0
    // Of the kernels of a convolution (kernel_parts.h):
    visited,  ///< taps of all inputs, whether a result has its place there or not
    padded,   ///< products with both sides rounded up to whole tiles
    outputs,  ///< elements of the tiles of all blocks
    depth,    ///< products along k of a block, for each launch
    tiled,    ///< products of a block with its whole tile, for each launch
    part      ///< products of a block without padding, for each launch
};
inline constexpr std::size_t count_count = 37;

class Counts {
  public:
    [[nodiscard]] double operator[](Count which) const {
        return values_.at(static_cast<std::size_t>(which));
    }
    double& operator[](Count which) { return values_.at(static_cast<std::size_t>(which)); }

  private:
    std::array<double, count_count> values_{};
};

/// Where an operator names the dimensions that it goes along.
struct Along {
    std::string_view name;
    std::size_t place;
    bool reduces = false;
};
/// Null: it names none.
[[nodiscard]] const Along* along_of(std::string_view name);

/// Whether a kernel of torch.compile adds into places, which the names of its operators say. They stand for all
/// kernels that were generated together: one that only fills or casts the result has fewer tensors.
[[nodiscard]] bool adds_into_places(const Call& call);

/// The name by which a law is found: the operator without "aten::" and the '_' of in-place forms; of a
/// convolution its direction, form, width and layout ("convolution.depthwise.16.first"); of a batch
/// norm its layout ("native_batch_norm.first"); of a generated kernel its kind ("triton_red").
[[nodiscard]] std::string law_name(const Call& call, std::string_view bare_name, ElementType hint);

/// Whether a kernel of torch.compile states its numbers of elements.
[[nodiscard]] bool generated_counted(const Call& call);
/// What a kernel of torch.compile adds into places, 0 for other kernels; `elements` is what it goes through.
[[nodiscard]] double generated_adds(const Call& call, double elements);

/// `hint` is the element type of tensors whose type was not recorded.
[[nodiscard]] Counts counts_of(const Call& call, ElementType hint);

[[nodiscard]] std::string_view name_of(Count which);
[[nodiscard]] std::optional<Count> count_named(std::string_view name);

}  // namespace ridge::programs
