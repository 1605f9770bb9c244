// A draw from any number of chances, for one instruction-set level.
#pragma once
#include "walks.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

// Chances in whole vectors, one of which is drawn.
struct Chances {
    float* sums = nullptr;  // of each lane, up to each vector
    int64_t n = 0;
    vec<float> sum{};

    void add(vec<float> chances) {
        sum += chances;
        store<float>(sums + n, sum);
        n += walk_lanes;
    }
    float total() const { return cumulative(sum)[walk_lanes - 1]; }
    // Returns the place of the chance that a number between zero and the total falls on.
    int64_t at(float number) const {
        const vec<float> up_to = cumulative(sum), point = fill<float>(number);
        const int passed = count_up_to(up_to, point),
                  lane = passed < walk_lanes ? passed : walk_lanes - 1;
        const float rest = number - (up_to[lane] - sum[lane]);
        int64_t k = lane;
        while (k < n - walk_lanes && sums[k] <= rest) k += walk_lanes;
        return k;
    }
};

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
