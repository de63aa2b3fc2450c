// Residual corrections of a chip and software, in a file of their own: calibration/CHIP/SOFTWARE.trees.
//
//   ridge trees 1
//   chip h200-sxm
//   software cublaslt-13.0
//   digest 5f0c3ab1e77d2210
//   source FIT derived ridge fit residual --gpu h200-sxm: residuals of 18985 rows; ...
//   class product_16 library 0.79 LIBRARY
//   note 5006 rows; mean error on a held-out third 5.3 % without and 4.3 % with it
//   range m 0 14, n 4 15, ...
//   splits m 17925 2800 ...
//   trees 101 93 108 98 -252 0 ...
//
// Each line is a word and its text. The header ends at the first `class`, which gives the class, the
// implementation that it corrects, the spread and its source; `range`, `splits` and `trees` mean the
// same as in the section model.residual of an overlay (`model/machine/residual_parameters.h`). Further
// lines of the header, `command`, `records`, `inputs` (the digest of these) and `date`, say what made the
// file; they hold for all of it.
// `digest` is the 64-bit FNV-1a hash of all bytes from the first `class` on.
//
// Limits: reading does not check the digest, as it would take longer than everything else together;
// `ridge gpus check` and the tests do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hardware/loader.h"
#include "hardware/shared_text.h"

namespace ridge::model {

struct TreesHeader {
    std::string chip;
    std::string software;
    std::string digest;
};

/// Whether the text is of this kind.
[[nodiscard]] bool is_trees_file(std::string_view text);

/// InputError when it has no chip, software or digest.
[[nodiscard]] TreesHeader read_trees_header(std::string_view text, const std::string& file);

/// The fields model.residual.*.* of the file, with their sources, and what is wrong with it. Any bytes
/// are safe.
[[nodiscard]] hardware::Loaded read_trees(const SharedText& text, const std::string& file);

/// The digest that the file should have.
[[nodiscard]] std::string digest_of_trees(std::string_view text);

/// The text of a file with the fields model.residual.*.* of a description. `header`: further lines
/// ("command ridge fit residual").
[[nodiscard]] std::string trees_file(const hardware::Description& corrections,
                                     const std::string& chip, const std::string& software,
                                     const std::vector<std::string>& header = {});

}  // namespace ridge::model
