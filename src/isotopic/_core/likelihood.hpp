// Ratios of counts to products, and the log-likelihood of the products.
#pragma once
#include "special.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

// sum x log(product). The exponents and the logarithms of the mantissas are summed separately, so
// that in float the sum is as accurate as the products are.
template <class T> struct LogLikelihood {
    vec<double> exponents = vec<double>{}, mantissas = vec<double>{};
    ints<T> impossible = ints<T>{};
    // A few terms are summed in float, and those sums in double.
    static constexpr int most_terms = 32;
    vec<float> some_exponents = vec<float>{}, some_mantissas = vec<float>{};
    int terms = 0;

    void add(vec<T> x, vec<T> product) {
        vec<T> mantissa, exponent;
        split<T>(product, mantissa, exponent);
        accumulate(x * exponent, x * log1p_reduced(mantissa - T(1)));
    }
    void accumulate(vec<double> e, vec<double> m) {
        exponents += e;
        mantissas += m;
    }
    void accumulate(vec<float> e, vec<float> m) {
        some_exponents += e;
        some_mantissas += m;
        if (++terms == most_terms) widen_terms();
    }
    void widen_terms() {
        add_wide(exponents, some_exponents);
        add_wide(mantissas, some_mantissas);
        some_exponents = some_mantissas = vec<float>{};
        terms = 0;
    }
    double value() {
        if (any(impossible)) return -__builtin_inf();
        if (sizeof(T) < sizeof(double)) widen_terms();
        return sum<double>(exponents) * 0.69314718055994530942 + sum<double>(mantissas);
    }
};

// Returns x / product. A product of zero, or so small that the ratio would overflow, can only
// explain a count of zero. For any other count the ratio is set to zero so that the count goes to
// no component; `is_empty` says where that is.
template <class T> struct Ratio {
    vec<T> x, product;  // zero and one where the product is too small
    ints<T> is_empty;
    Ratio(vec<T> given, vec<T> by) {
        const vec<T> most = T(4) * given;
        is_empty = by < T(simd<T>::smallest_normal) * (most > T(1) ? most : fill<T>(1));
        x = is_empty ? vec<T>{} : given;
        product = is_empty ? fill<T>(1) : by;
    }
    vec<T> value() const { return x * reciprocal(product); }
};

template <class T> inline vec<T> ratio(vec<T> x, vec<T> product) {
    return Ratio<T>(x, product).value();
}

// The same, and adds to the log-likelihood, which is minus infinity if a count cannot be explained.
template <class T> inline vec<T> divide(vec<T> x, vec<T> product,
                                        LogLikelihood<T>& log_likelihood) {
    const Ratio<T> r(x, product);
    log_likelihood.impossible |= r.is_empty & (x > T(0));
    log_likelihood.add(r.x, r.product);
    return r.value();
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
