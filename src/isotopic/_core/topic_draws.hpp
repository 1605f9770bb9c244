// Draws of topics from responsibilities, for one instruction-set level; see `TopicDraws` in
// kernels.hpp.
#pragma once
#include "chances.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

// Draws the topics of some samples' tokens. `memory` has two rows of padded components.
inline void draw_topics(const TopicDraws& draws, float* memory, int64_t begin, int64_t end) {
    float* const weights = memory;
    for (int64_t k = 0; k < draws.padded; ++k) weights[k] = 0;
    for (int64_t d = begin; d < end; ++d) {
        for (int64_t k = 0; k < draws.components; ++k)
            weights[k] = draws.weights[d * draws.components + k];
        Random random(draws.seed, 0, uint64_t(d));
        int32_t* assigned = draws.assignments + draws.token_starts[d];
        for (int64_t e = draws.row_starts[d]; e < draws.row_starts[d + 1]; ++e) {
            const float* topics = draws.topics + draws.features[e] * draws.padded;
            Chances chances{memory + draws.padded};
            for (int64_t k = 0; k < draws.padded; k += walk_lanes)
                chances.add(load<float>(weights + k) * load<float>(topics + k));
            const float total = chances.total();
            for (int32_t i = 0; i < draws.repeats[e]; ++i) {
                const int64_t k = chances.at(random.next() * total);
                *assigned++ = int32_t(k < draws.components ? k : draws.components - 1);
            }
        }
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
