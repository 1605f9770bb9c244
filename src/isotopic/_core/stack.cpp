// Runs that are fitted together. The kernels are in stack.hpp.
#include "levels.hpp"
#include "pass.hpp"
#include "subnormals.hpp"

namespace isotopic {

void stacked_pass(const Stack& stack) {
    const FlushSubnormals flush;
    current_level().stacked_pass(stack);
}

void extrapolate_stack(const StackExtrapolation& extrapolation) {
    const FlushSubnormals flush;
    current_level().extrapolate_stack(extrapolation);
}

}  // namespace isotopic
