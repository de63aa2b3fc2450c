# protozero is headers only and does not bring a package file everywhere. It is used in single source files, so programs
# that use an installed ridge need it not.

find_path(RIDGE_PROTOZERO_INCLUDE protozero/pbf_reader.hpp REQUIRED)
mark_as_advanced(RIDGE_PROTOZERO_INCLUDE)
