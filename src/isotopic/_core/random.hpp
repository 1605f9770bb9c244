// Random numbers of Gibbs sampling. Everything here has internal linkage, because it is compiled
// for several instruction-set levels.
#pragma once
#include <cstdint>

namespace isotopic {
namespace {

inline uint64_t mixed(uint64_t bits) {  // splitmix64
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

// Random numbers of one stream, such as a feature, in one sweep: they depend on nothing else.
class Random {
  public:
    Random(uint64_t seed, uint64_t sweep, uint64_t stream)
        : state_(mixed(seed ^ mixed(mixed(sweep + 1) + stream))) {}
    // Returns a number from zero to one, which it does not reach.
    float next() {
        state_ += 0x9e3779b97f4a7c15u;
        return float(mixed(state_) >> 40) * (1.0f / 16777216);
    }

  private:
    uint64_t state_ = 0;
};

}  // namespace
}  // namespace isotopic
