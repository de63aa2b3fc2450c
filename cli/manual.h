// Writes the manual page ridge(1) from the program itself: each command of the table with its
// options, including those of every operation that it takes, and its examples. The page therefore
// has every command and option that the program has.
//
//   write_manual(std::cout);   // ridge_manual > ridge.1; man -l ridge.1
//
// The page uses the man macros of troff, in ASCII. It has no date, so that two builds of one
// version give the same page. It leaves out values that only a run knows (the GPU at hand).
#pragma once

#include <iosfwd>

namespace ridge::cli {

void write_manual(std::ostream& out);

}  // namespace ridge::cli
