#include "levels.hpp"

#include <cstdlib>
#include <stdexcept>
#ifdef _MSC_VER
#include <intrin.h>
#endif

namespace isotopic {

namespace plain {
extern const Level level;
}
#ifdef ISOTOPIC_X86
namespace v2 {
extern const Level level;
}
namespace v3 {
extern const Level level;
}
namespace v4 {
extern const Level level;
}
#endif

#ifdef ISOTOPIC_X86
namespace {

// The levels whose features the machine has: those that a level adds and that the compiler uses.
struct Machine {
    bool v2, v3, v4;
};

#ifdef _MSC_VER

// With Microsoft's libraries there is no __builtin_cpu_supports. The system must also save the wide
// registers, which xgetbv says.
Machine machine() {
    int basic[4], extended[4];
    __cpuidex(basic, 1, 0);
    __cpuidex(extended, 7, 0);
    const auto has = [](int word, int bit) { return (unsigned(word) >> bit & 1) != 0; };
    const uint64_t saved = has(basic[2], 27) ? _xgetbv(0) : 0;
    Machine found{};
    found.v2 = has(basic[2], 20) && has(basic[2], 23);  // sse4.2, popcnt
    found.v3 = found.v2 && (saved & 0x06) == 0x06 && has(basic[2], 12) && has(extended[1], 5) &&
               has(extended[1], 8);  // fma, avx2, bmi2
    found.v4 = found.v3 && (saved & 0xe6) == 0xe6;
    for (const int bit : {16, 17, 28, 30, 31})  // avx512f, dq, cd, bw, vl
        found.v4 = found.v4 && has(extended[1], bit);
    return found;
}

#else

// Only newer compilers know the names x86-64-v2, ... in __builtin_cpu_supports.
Machine machine() {
    __builtin_cpu_init();
    Machine found{};
    found.v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    found.v3 = found.v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi2");
    found.v4 = found.v3 && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return found;
}

#endif

}  // namespace
#endif

std::vector<const Level*> available_levels() {
    std::vector<const Level*> levels{&plain::level};
#ifdef ISOTOPIC_X86
    const Machine has = machine();
    if (has.v2) levels.push_back(&v2::level);
    if (has.v3) levels.push_back(&v3::level);
    if (has.v4) levels.push_back(&v4::level);
#endif
    return levels;
}

namespace {

const Level& chosen_level() {
    const auto levels = available_levels();
    const char* forced = std::getenv("ISOTOPIC_SIMD");
    if (!forced || !*forced) return *levels.back();
    std::string names;
    for (const Level* level : levels) {
        if (std::string(forced) == level->name) return *level;
        names += std::string(names.empty() ? "" : ", ") + level->name;
    }
    throw std::invalid_argument("ISOTOPIC_SIMD=" + std::string(forced) +
                                " is not an instruction-set level of this machine and build. "
                                "Available: " +
                                names + ".");
}

}  // namespace

const Level& current_level() {
    static const Level& level = chosen_level();
    return level;
}

}  // namespace isotopic
