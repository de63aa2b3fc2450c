// toml++ compiled into the program: its headers hold the library's own source as well.
#define TOML_IMPLEMENTATION
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>
