// The choice of the instruction-set level that the hot loops run on.
#pragma once
#include <string>
#include <vector>
#include "kernels.hpp"

namespace isotopic {

// The levels that were built and that this machine can run, lowest first.
std::vector<const Level*> available_levels();

// The highest of them, or the one that the environment variable ISOTOPIC_SIMD names.
const Level& current_level();

}  // namespace isotopic
