#include "plot/page.h"

#include "hardware/error.h"

namespace ridge::plot {

std::string_view page_file(std::string_view name) {
    for (const hardware::EmbeddedFile& file : page_files()) {
        if (file.path.substr(file.path.rfind('/') + 1) == name) return file.text;
    }
    contract_violated("the page has a file of this name", __FILE__, __LINE__);
}

}  // namespace ridge::plot
