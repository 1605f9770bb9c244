#include "memory.hpp"

#include <cstdlib>
#include <new>
#if defined(__linux__) || defined(_WIN32)
#include <malloc.h>
#endif
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace isotopic {

constexpr std::size_t huge_page = std::size_t(1) << 21;

void* allocate(std::size_t bytes) {
    const std::size_t wanted = bytes ? bytes : 1, unit = wanted < huge_page ? 64 : huge_page;
    void* p = nullptr;
#ifdef _WIN32
    p = _aligned_malloc(wanted, unit);
    if (!p) throw std::bad_alloc();
#else
    if (posix_memalign(&p, unit, wanted)) throw std::bad_alloc();
#endif
#ifdef MADV_HUGEPAGE
    // Whole pages only: the rest would be rounded up to one.
    if (unit == huge_page) madvise(p, wanted / huge_page * huge_page, MADV_HUGEPAGE);
#endif
    return p;
}

void deallocate(void* memory) noexcept {
#ifdef _WIN32
    _aligned_free(memory);
#else
    std::free(memory);
#endif
}

void release_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace isotopic
