// Compiles toml++ into the program; its headers also contain the library's source.
#define TOML_IMPLEMENTATION
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>
