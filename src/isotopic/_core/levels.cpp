#include "levels.hpp"

#include <cstdlib>
#include <stdexcept>

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

std::vector<const Level*> available_levels() {
    std::vector<const Level*> levels{&plain::level};
#ifdef ISOTOPIC_X86
    // Asks for the features that a level adds and that the compiler uses. Only newer compilers know
    // the names x86-64-v2, ... in __builtin_cpu_supports.
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))) return levels;
    levels.push_back(&v2::level);
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
          __builtin_cpu_supports("bmi2")))
        return levels;
    levels.push_back(&v3::level);
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl")))
        return levels;
    levels.push_back(&v4::level);
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
