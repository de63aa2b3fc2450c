// The head of a description of a made-up GPU, for tests that add fields to it.
//
//   load_text(test::toy_header("DS") + "sm.count = { value = 1, source = \"DS\" }\n", ...)
#pragma once

#include <string>

namespace ridge::test {

/// Five lines, the last of which declares a source of this name.
inline std::string toy_header(const std::string& source) {
    return "schema = 1\nname = \"toy\"\ntitle = \"Toy\"\nvendor = \"ACME\"\nsources." + source +
           " = { kind = \"vendor\", text = \"data sheet\" }\n";
}

}  // namespace ridge::test
