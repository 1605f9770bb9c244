// Logarithm, exponential, digamma and log-gamma of whole vectors.
#pragma once
#include "simd.hpp"
#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace isotopic {
namespace ISOTOPIC_LEVEL {

constexpr double ln2_high =
    6.93147180369123816490e-01;  // split so that exponent * ln2_high is exact
constexpr double ln2_low = 1.90821492927058770002e-10;

// x = mantissa * 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)), for x > 0 that is not
// subnormal.
template <class T> inline void split(vec<T> x, vec<T>& mantissa, vec<T>& exponent) {
    using S = simd<T>;
    const ints<T> shift = ints<T>{} + (S::one_bits - S::sqrt_half_bits);
    // Unsigned, because NaN overflows.
    const ints<T> bits = as<ints<T>>(as<uints<T>>(x) + as<uints<T>>(shift));
    // The biased exponent becomes a number through the bits of 2^mantissa_bits + exponent:
    // not every level can convert 64-bit integers.
    const ints<T> biased = bits >> S::mantissa_bits;
    const T bias = (S::one_bits >> S::mantissa_bits);
    exponent =
        as<vec<T>>(biased | as<ints<T>>(fill<T>(S::two_to_mantissa))) - (S::two_to_mantissa + bias);
    const ints<T> mask = ((ints<T>{} + 1) << S::mantissa_bits) - 1;
    mantissa = as<vec<T>>((bits & mask) + S::sqrt_half_bits);
}

// 1 / x for x that is not subnormal. Division is the slowest instruction there is, so the widest
// level refines an estimate of 14 bits (Newton's method doubles them each time) instead. The steps
// are fused whatever the compiler contracts: of a large x, the correction alone would be subnormal.
#ifdef __AVX512F__
inline vec<double> reciprocal(vec<double> x) {
    __m512d r = _mm512_maskz_rcp14_pd(0xff, (__m512d)x);
    for (int i = 0; i < 2; ++i)
        r = _mm512_fmadd_pd(r, _mm512_fnmadd_pd((__m512d)x, r, _mm512_set1_pd(1.0)), r);
    return (vec<double>)r;
}
inline vec<float> reciprocal(vec<float> x) {
    const __m512 r = _mm512_maskz_rcp14_ps(0xffff, (__m512)x);
    return (vec<float>)_mm512_fmadd_ps(r, _mm512_fnmadd_ps((__m512)x, r, _mm512_set1_ps(1.0f)), r);
}
#else
inline vec<double> reciprocal(vec<double> x) { return 1.0 / x; }
inline vec<float> reciprocal(vec<float> x) { return 1.0f / x; }
#endif

// log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1]: with s = f / (2 + f) it is 2 atanh(s), whose
// series in s^2 is replaced by the minimax polynomial of fdlibm (e_log.c).
inline vec<double> log1p_reduced(vec<double> f) {
    const vec<double> s = f * reciprocal(2.0 + f), z = s * s, half_square = 0.5 * f * f;
    vec<double> p = 1.479819860511658591e-01 * z + 1.531383769920937332e-01;
    p = p * z + 1.818357216161805012e-01;
    p = p * z + 2.222219843214978396e-01;
    p = p * z + 2.857142874366239149e-01;
    p = p * z + 3.999999999940941908e-01;
    p = p * z + 6.666666666666735130e-01;
    return f - (half_square - s * (half_square + z * p));
}
// In float a polynomial in f is as good (Cephes, logf.c) and needs no division. It is evaluated as
// a tree, because a chain of nine multiply-adds would be waited for.
inline vec<float> log1p_reduced(vec<float> f) {
    const vec<float> z = f * f;
    const vec<float> p01 = 3.3333331174e-1f - 2.4999993993e-1f * f,
                     p23 = 2.0000714765e-1f - 1.6668057665e-1f * f,
                     p45 = 1.4249322787e-1f - 1.2420140846e-1f * f,
                     p67 = 1.1676998740e-1f - 1.1514610310e-1f * f;
    const vec<float> low = p01 + p23 * z, high = (p45 + p67 * z) + 7.0376836292e-2f * (z * z);
    return f + z * (f * (low + high * (z * z)) - 0.5f);
}

inline vec<double> log(vec<double> x) {
    vec<double> mantissa, exponent;
    split<double>(x, mantissa, exponent);
    return exponent * ln2_high + (log1p_reduced(mantissa - 1.0) + exponent * ln2_low);
}

// exp(x) for x <= 709; zero below -745, subnormal in between.
inline vec<double> exp(vec<double> x) {
    const vec<double> magic = fill<double>(6755399441055744.0);  // 1.5 * 2^52: rounds to an integer
    const vec<double> floor_x = x < -746.0 ? fill<double>(-746.0) : x;
    const vec<double> shifted = floor_x * 1.4426950408889634074 + magic;
    const vec<double> n = shifted - magic;
    const vec<double> r = (floor_x - n * ln2_high) - n * ln2_low;
    constexpr double inverse_factorial[] = {1.0,
                                            1.0,
                                            1.0 / 2,
                                            1.0 / 6,
                                            1.0 / 24,
                                            1.0 / 120,
                                            1.0 / 720,
                                            1.0 / 5040,
                                            1.0 / 40320,
                                            1.0 / 362880,
                                            1.0 / 3628800,
                                            1.0 / 39916800,
                                            1.0 / 479001600};
    vec<double> p = fill<double>(1.0 / 6227020800);
    for (int i = 12; i >= 0; --i) p = p * r + inverse_factorial[i];
    // 2^n in two factors, so that the result may be subnormal.
    const ints<double> power = as<ints<double>>(shifted) - as<ints<double>>(magic),
                       half = power >> 1;
    const auto two_to = [](ints<double> e) { return as<vec<double>>((e + 1023) << 52); };
    return p * two_to(half) * two_to(power - half);
}

// x^power with a relative error of 1e-8 or so (1e-6 in single precision), exactly one for x = 1;
// for x in [1e-300, 1e300] (1e-30, 1e30) and |power| <= 1. The logarithm is its atanh series, the
// exponential its Taylor series, both short. The power is a number or a vector.
template <class T, class Power> inline vec<T> rough_power(vec<T> x, Power power) {
    using S = simd<T>;
    vec<T> mantissa, exponent;
    split<T>(x, mantissa, exponent);
    const vec<T> s = (mantissa - T(1)) * reciprocal(mantissa + T(1)), z = s * s;
    vec<T> p = T(2.0 / 9) * z + T(2.0 / 7);
    p = p * z + T(2.0 / 5);
    p = p * z + T(2.0 / 3);
    p = p * z + T(2);
    const vec<T> log2_x = exponent + p * s * T(1.4426950408889634074), y = power * log2_x;
    const vec<T> magic = fill<T>(T(1.5) * S::two_to_mantissa);  // rounds to an integer
    const vec<T> shifted = y + magic, r = (y - (shifted - magic)) * T(0.69314718055994530942);
    vec<T> e = T(1.0 / 5040) * r + T(1.0 / 720);
    e = e * r + T(1.0 / 120);
    e = e * r + T(1.0 / 24);
    e = e * r + T(1.0 / 6);
    e = e * r + T(0.5);
    e = e * r + T(1);
    e = e * r + T(1);
    const ints<T> integer = as<ints<T>>(shifted) - as<ints<T>>(magic);
    return e * as<vec<T>>((integer << S::mantissa_bits) + S::one_bits);
}

struct GammaFunctions {
    vec<double> digamma, log_gamma;
};

// Near its zero digamma loses all digits to cancellation, so there it is its Taylor series about
// the zero, which is kept as a sum of two doubles. Coefficients: psi^(n)(zero) / n!, n = 1, 2, ....
constexpr double digamma_zero = 1.4616321449683622, digamma_zero_low = 9.549995429965697e-17;
constexpr double digamma_zero_radius = 0.05;
constexpr double digamma_taylor[] = {
    0.9676722454476212,   -0.4427631689835921,  0.258499760955651,    -0.16394270544240652,
    0.10782405069126237,  -0.07219956125645471, 0.04880428816414311,  -0.03316112647484736,
    0.022597648232218104, -0.01542476590494896, 0.010538791616612175, -0.007204534386356869,
};

// digamma and log-gamma for x > 0. Arguments below 8 are shifted by 8 with the recurrences
//   psi(x) = psi(x + 8) - P'(x) / P(x),   log Gamma(x) = log Gamma(x + 8) - log P(x),
//   P(x) = x (x + 1) ... (x + 7),
// and both are then the asymptotic series with eight Bernoulli terms (error below 2e-16 at 8).
inline GammaFunctions gamma_functions(vec<double> x) {
    const auto small = x < 8.0;

    vec<double> y = x, shift_digamma = vec<double>{}, shift_log_gamma = vec<double>{};
    if (any(small)) {
        const vec<double> base = small ? x : fill<double>(1.0);
        vec<double> product = base, derivative = fill<double>(1.0);
        for (int i = 1; i < 8; ++i) {
            const vec<double> factor = base + double(i);
            derivative = derivative * factor + product;
            product = product * factor;
        }
        shift_digamma = small ? derivative * reciprocal(product) : vec<double>{};
        shift_log_gamma = small ? log(product) : vec<double>{};
        y = small ? x + 8.0 : x;
    }
    const vec<double> inverse = reciprocal(y), z = inverse * inverse, log_y = log(y);
    constexpr double bernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                    5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
    vec<double> tail_digamma = vec<double>{}, tail_log_gamma = vec<double>{};
    for (int n = 8; n >= 1; --n) {
        tail_digamma = (tail_digamma + bernoulli[n - 1] / (2 * n)) * z;
        tail_log_gamma = tail_log_gamma * z + bernoulli[n - 1] / (2 * n * (2 * n - 1));
    }
    GammaFunctions result;
    result.digamma = (log_y - 0.5 * inverse - tail_digamma) - shift_digamma;
    result.log_gamma = ((y - 0.5) * log_y - y + 0.91893853320467274178 + tail_log_gamma * inverse) -
                       shift_log_gamma;

    const vec<double> from_zero = (x - digamma_zero) - digamma_zero_low;
    const auto near = (from_zero < digamma_zero_radius) & (from_zero > -digamma_zero_radius);
    if (any(near)) {
        vec<double> series = vec<double>{};
        for (int n = int(sizeof digamma_taylor / sizeof(double)) - 1; n >= 0; --n)
            series = series * from_zero + digamma_taylor[n];
        result.digamma = near ? series * from_zero : result.digamma;
    }
    return result;
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
