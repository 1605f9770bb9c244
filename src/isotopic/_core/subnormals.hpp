// Factors of a converged fit have many entries that approach zero, and arithmetic on subnormal
// numbers is up to a hundred times slower. Inside the hot loops they count as zero.
#pragma once
#include <cstdint>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace isotopic {

class FlushSubnormals {
  public:
    FlushSubnormals() : before_(get()) { set(before_ | flush_bits); }
    ~FlushSubnormals() { set(before_); }
    FlushSubnormals(const FlushSubnormals&) = delete;

  private:
#if defined(__SSE2__)
    using Control = unsigned;
    static constexpr Control flush_bits = 0x8040;  // flush results, read operands as zero
    static Control get() { return _mm_getcsr(); }
    static void set(Control control) { _mm_setcsr(control); }
#elif defined(__aarch64__)
    using Control = uint64_t;
    static constexpr Control flush_bits = uint64_t(1) << 24;
    static Control get() {
        Control control;
        asm volatile("mrs %0, fpcr" : "=r"(control));
        return control;
    }
    static void set(Control control) { asm volatile("msr fpcr, %0" : : "r"(control)); }
#else
    using Control = int;
    static constexpr Control flush_bits = 0;
    static Control get() { return 0; }
    static void set(Control) {}
#endif
    Control before_;
};

}  // namespace isotopic
