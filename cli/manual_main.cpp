#include <iostream>

#include "cli/manual.h"

int main() {
    ridge::cli::write_manual(std::cout);
    std::cout.flush();
    return std::cout ? 0 : 1;
}
