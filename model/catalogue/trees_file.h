// Residual corrections of a chip and software, in a file of their own: calibration/CHIP/SOFTWARE.trees.
//
//   ridge trees 1
//   chip h200-sxm
//   software cublaslt-13.0
//   digest 5f0c3ab1e77d2210
//   source LIBRARY derived fit of residual by ridge calibrate --built-in
//   command ridge calibrate --built-in --gpu h200-sxm --software cublaslt-13.0
//   records records/h200-sxm
//   class product_16 library 0.79 LIBRARY
//   note 5006 rows; mean error on a held-out third 5.3 % without and 4.3 % with it
//   range m 0 14, n 4 15, ...
//   splits m 17925 2800 ...
//   trees 101 93 108 98 -252 0 ...
//   kernel model.engine.tiled_product.vllm.fp8_sm90 0.129 0.191 LIBRARY
//   range m 0 15, ...
//
// Each line is a word and its text. The header ends at the first `class` or `kernel`. A class has the
// implementation that it corrects, the spread and its source; a kernel of an engine the half-widths of its band
// below and above (docs/model.md G8) and its source. `range`, `splits` and `trees` mean the same as in overlays
// (`model/machine/residual_parameters.h`). After a source, `command`, `records`, `inputs` (the digest of these) and
// `date` say what made it; before the first source they hold for all.
// `digest` is the 64-bit FNV-1a hash of all bytes from the first `class` or `kernel` on.
//
// Limits: reading does not check the digest, as it would take longer than everything else together;
// `ridge gpus check` and the tests do.
#pragma once

#include <string>
#include <string_view>

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

/// The fields model.residual.*.* and model.engine.*.correction_* of the file, with their sources, and what is wrong
/// with it. Any bytes are safe.
[[nodiscard]] hardware::Loaded read_trees(const SharedText& text, const std::string& file);

/// The digest that the file should have.
[[nodiscard]] std::string digest_of_trees(std::string_view text);

/// The text of a file with those fields of a description.
[[nodiscard]] std::string trees_file(const hardware::Description& corrections,
                                     const std::string& chip, const std::string& software);

}  // namespace ridge::model
