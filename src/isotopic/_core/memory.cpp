#include "memory.hpp"

#include <new>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace isotopic {

constexpr std::size_t huge_page = std::size_t(1) << 21;

void* allocate(std::size_t bytes) {
    const std::size_t wanted = bytes ? bytes : 1, unit = wanted < huge_page ? 64 : huge_page;
    const std::size_t whole = (wanted + unit - 1) / unit * unit;
    void* p = std::aligned_alloc(unit, whole);
    if (!p) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (unit == huge_page) madvise(p, whole, MADV_HUGEPAGE);
#endif
    return p;
}

}  // namespace isotopic
