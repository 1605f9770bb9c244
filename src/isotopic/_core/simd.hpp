// Vectors of one instruction-set level: its widest registers, as the vector types of GCC and Clang.
// Everything is in the level's own namespace, so that code compiled for one level is never linked
// into another.
#pragma once
#include <cstdint>
#include <utility>

namespace isotopic {
namespace ISOTOPIC_LEVEL {

constexpr int vector_bytes = ISOTOPIC_VECTOR_BYTES;

template <class T> struct simd;

template <> struct simd<double> {
    typedef double vec __attribute__((vector_size(vector_bytes)));
    typedef int64_t ints __attribute__((vector_size(vector_bytes)));
    typedef uint64_t uints __attribute__((vector_size(vector_bytes)));
    static constexpr int lanes = vector_bytes / sizeof(double);
    static constexpr int mantissa_bits = 52;
    static constexpr int64_t one_bits = 0x3ff0000000000000;        // 1.0
    static constexpr int64_t sqrt_half_bits = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
    static constexpr double smallest_normal = 2.2250738585072014e-308;
    static constexpr double two_to_mantissa = 4503599627370496.0;  // 2^52
};

template <> struct simd<float> {
    typedef float vec __attribute__((vector_size(vector_bytes)));
    typedef int32_t ints __attribute__((vector_size(vector_bytes)));
    typedef uint32_t uints __attribute__((vector_size(vector_bytes)));
    static constexpr int lanes = vector_bytes / sizeof(float);
    static constexpr int mantissa_bits = 23;
    static constexpr int32_t one_bits = 0x3f800000;
    static constexpr int32_t sqrt_half_bits = 0x3f3504f3;
    static constexpr float smallest_normal = 1.17549435e-38f;
    static constexpr float two_to_mantissa = 8388608.0f;  // 2^23
};

template <class T> using vec = typename simd<T>::vec;
template <class T> using ints = typename simd<T>::ints;
template <class T> using uints = typename simd<T>::uints;

// Padded buffers are aligned to whole vectors; the caller's arrays are not.
template <class T> inline vec<T> load(const T* p) { return *reinterpret_cast<const vec<T>*>(p); }
template <class T> inline void store(T* p, vec<T> v) { *reinterpret_cast<vec<T>*>(p) = v; }
template <class T> inline vec<T> load_unaligned(const T* p) {
    vec<T> v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
template <class T> inline void store_unaligned(T* p, vec<T> v) {
    __builtin_memcpy(p, &v, sizeof v);
}
template <class T> inline vec<T> fill(T value) { return value - vec<T>{}; }

template <class V, class I> inline V as(I bits) {
    static_assert(sizeof(V) == sizeof(I), "a cast of bits keeps the size");
    V v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}

// Lanes of a and b chosen by index (b's count from `lanes`).
template <class T, int... I> inline vec<T> choose(vec<T> a, vec<T> b,
                                                  std::integer_sequence<int, I...>) {
#if defined(__clang__)
    return __builtin_shufflevector(a, b, I...);
#else
    return __builtin_shuffle(a, b, ints<T>{I...});
#endif
}

// The sums of `lanes` vectors as one vector: the sum of v[i] is lane i. Each step adds two vectors
// lane by lane: lanes whose index has the bit `Width` clear hold sums of the first, the others of
// the second. That takes a blend and one shuffle. Neighbouring floats, for which there is no such
// shuffle, are added to each other in two: in each group of four lanes the first two are of `a`.
template <class T, int Width> struct Fold {
    template <int... I> static inline vec<T> pair(vec<T> a, vec<T> b,
                                                  std::integer_sequence<int, I...>) {
        constexpr int L = simd<T>::lanes;
        if constexpr (sizeof(T) == 4 && Width < 4) {
            using Even = std::integer_sequence<int, ((I & 2) ? L : 0) + (I & ~3) + 2 * (I & 1)...>;
            using Odd =
                std::integer_sequence<int, ((I & 2) ? L : 0) + (I & ~3) + 2 * (I & 1) + 1 ...>;
            return choose<T>(a, b, Even{}) + choose<T>(a, b, Odd{});
        }
        using Straight = std::integer_sequence<int, ((I & Width) ? L + I : I)...>;
        using Crossed =
            std::integer_sequence<int, ((I & Width) ? L + (I ^ Width) : (I ^ Width))...>;
        return choose<T>(a, b, Straight{}) + choose<T>(a, b, Crossed{});
    }
    static inline vec<T> of(const vec<T>* v) {
        return pair(Fold<T, Width / 2>::of(v), Fold<T, Width / 2>::of(v + Width),
                    std::make_integer_sequence<int, simd<T>::lanes>{});
    }
};
template <class T> struct Fold<T, 0> {
    static inline vec<T> of(const vec<T>* v) { return v[0]; }
};
template <class T> inline vec<T> sums_of(const vec<T> (&v)[simd<T>::lanes]) {
    return Fold<T, simd<T>::lanes / 2>::of(v);
}

typedef float half_vec __attribute__((vector_size(vector_bytes / 2)));

inline vec<double> widen(const char* from) {
    half_vec half;
    __builtin_memcpy(&half, from, sizeof half);
    return __builtin_convertvector(half, vec<double>);
}
inline vec<double> lower_half(vec<float> v) { return widen(reinterpret_cast<const char*>(&v)); }
inline vec<double> upper_half(vec<float> v) {
    return widen(reinterpret_cast<const char*>(&v) + sizeof(half_vec));
}

inline void add_wide(vec<double>& sums, vec<double> v) { sums += v; }
inline void add_wide(vec<double>& sums, vec<float> v) { sums += lower_half(v) + upper_half(v); }

// Adds to each lane those whose index differs from its own in any of the bits of Width and below.
template <class T, int Width> struct Across {
    template <int... I> static inline vec<T> swapped(vec<T> v, std::integer_sequence<int, I...>) {
        return choose<T>(v, v, std::integer_sequence<int, (I ^ Width)...>{});
    }
    static inline vec<T> of(vec<T> v) {
        return Across<T, Width / 2>::of(
            v + swapped(v, std::make_integer_sequence<int, simd<T>::lanes>{}));
    }
};
template <class T> struct Across<T, 0> {
    static inline vec<T> of(vec<T> v) { return v; }
};
template <class T> inline T sum(vec<T> v) { return Across<T, simd<T>::lanes / 2>::of(v)[0]; }

// The sums of two vectors, for the price of one: each takes half of the lanes.
template <class T> struct Two {
    T first, second;
};
template <class T> inline Two<T> sums_of_two(vec<T> a, vec<T> b) {
    constexpr int half = simd<T>::lanes / 2;
    const vec<T> both = Across<T, half / 2>::of(
        Fold<T, half>::pair(a, b, std::make_integer_sequence<int, simd<T>::lanes>{}));
    return {.first = both[0], .second = both[half]};
}

// Returns whether a comparison is true in any lane.
template <class I> inline bool any(I mask) {
    uint64_t words[sizeof mask / sizeof(uint64_t)], all = 0;
    __builtin_memcpy(words, &mask, sizeof mask);
    for (uint64_t word : words) all |= word;
    return all != 0;
}

// 0, 1, 2, ...
template <class T, int... I> inline vec<T> count_up(std::integer_sequence<int, I...>) {
    return vec<T>{T(I)...};
}
template <class T> inline vec<T> count_up() {
    return count_up<T>(std::make_integer_sequence<int, simd<T>::lanes>{});
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
