// The manual page ridge(1), written from the program itself: each command of the table with its
// options, those of every operation that it takes, and its examples. A command or an option that the
// program has is therefore in the page.
//
//   write_manual(std::cout);   // ridge_manual > ridge.1; man -l ridge.1
//
// The page is in the man macros of troff, in ASCII, without a date, so that two builds of one version
// give the same page. Values that only a run knows (the GPU at hand) do not appear in it.
#pragma once

#include <iosfwd>

namespace ridge::cli {

void write_manual(std::ostream& out);

}  // namespace ridge::cli
