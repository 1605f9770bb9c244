// The hot loops of one instruction-set level, as a table of plain functions.
//
// This header and kernels.cpp use no part of the standard library that emits code: whatever
// kernels.cpp instantiates is compiled for its level and must not be shared with others.
#pragma once
#include <cstdint>

namespace isotopic {

// One pass over the counts, as seen by one block of samples.
//
// "Padded" means: components rounded up to whole vectors, the rest zero. `ratios` holds
// x / (weights @ topics) for the entries of the block, and nothing else of that product is kept.
template <class T> struct Block {
    // the counts, by sample (the rows' starts and ends count entries of the whole matrix)
    int64_t n_entries;
    const int64_t *row_starts, *row_ends;
    const int32_t* features;
    const T* values;
    // the block's entries by feature: only the features that occur in it
    const int32_t* column_features;
    const uint32_t* column_starts;
    const uint16_t* entry_rows;   // sample, counted from the start of the block
    const uint32_t* entry_order;  // position of the entry in `ratios`
    // the factors
    int64_t components, registers, n_features;
    int64_t range_features;  // features whose topics stay in cache together
    const T* weights;        // samples x components
    const T* topics;         // features x padded components
    // this block
    int64_t first_row, first_entry;
    T* block_weights;  // samples of the block x padded components
    T* block_sums;     // the same shape: sum of ratio * topics
    int64_t* cursors;  // samples of the block
    T* ratios;  // null when only the weights' counts are wanted
    // results
    T* weight_counts;         // samples x components
    double* log_likelihoods;  // samples
    T* topic_sums;            // features x padded components: sum of ratio * weights
};

// Factors of features x components between the caller's arrays and padded ones.
template <class T> struct Topics {
    int64_t components, padded;
    const bool* wanted;  // which features; null: all of them
    const T* given;
    T* topics;
    T* topic_sums;
    T* counts;
};

// A table of positive posterior parameters and what the next pass and the bound need of it.
template <class T> struct Posterior {
    int64_t columns;
    const T* parameters;          // rows x columns
    const T* counts;              // rows x columns: parameters minus the prior's
    const double* row_offsets;    // or null
    const double* column_offsets; // or null
    T* effective;                 // exp(digamma(parameters) - offsets)
    double* terms;                // by row: sum of log_gamma(parameters) - counts * digamma(parameters)
};

// Counts taken further along the way that they went; see `extrapolate`.
template <class T> struct Extrapolation {
    int64_t columns;
    const T* latest;       // rows x columns
    const T* previous;     // rows x columns
    const double *totals, *momentum, *floor;  // of each row
    T* to;  // rows x columns
};

// Counts by sample and the factors, features x components.
template <class T> struct Shared {
    int64_t components;
    const int64_t* row_starts;
    const int32_t* features;
    const T *values, *weights, *topics;
    T* to;  // for each entry: its count times the sum of its squared shares
};

// Coordinate descent: each sample's weights, the other side's factors being as they are.
template <class T> struct Descent {
    int64_t components, padded, sweeps;
    const int64_t* row_starts;
    const int32_t* features;
    const T* values;
    const T* others;        // features x padded components
    const double* slopes;   // by component, positive: what a weight costs
    const double* repeats;  // by sample: how often it pays that; or null
    const T* from;          // samples x components
    T* to;                  // the same shape
};

template <class T> struct Kernels {
    int lanes;
    void (*pad)(const Topics<T>&, int64_t begin, int64_t end);
    // The features from range_begin on, for a range of them; the ranges of a sample come in order.
    void (*rows)(const Block<T>&, int64_t begin, int64_t end, int64_t range_begin);
    void (*columns)(const Block<T>&, int64_t begin, int64_t end);
    void (*finish)(const Topics<T>&, int64_t begin, int64_t end);
    // dense: product becomes x / product; returns sum x log(product)
    double (*divide)(const T* x, T* product, int64_t n);
    void (*posterior)(const Posterior<T>&, int64_t begin, int64_t end);
    // sum over rows and columns of |a - row_scale * column_scale * b|; either scale may be null
    double (*distance)(const T* a, const T* b, const double* row_scale, const double* column_scale, int64_t columns,
                       int64_t begin, int64_t end);
    // sums of rows begin to end, each on its own or (added) all together
    void (*row_sums)(const T* a, int64_t columns, int64_t begin, int64_t end, double* sums);
    void (*column_sums)(const T* a, int64_t columns, int64_t begin, int64_t end, double* sums);
    // to = a * scale, by row or by column (the other one is null)
    void (*scale)(const T* a, const double* row_scale, const double* column_scale, int64_t columns, int64_t begin,
                  int64_t end, T* to);
    // to = latest * (latest / previous)^momentum, at least floor * total where latest is positive;
    // then each row is scaled to its total
    void (*extrapolate)(const Extrapolation<T>&, int64_t begin, int64_t end);
    // `memory`: padded components + 2 times the entries of the longest row, in whole vectors
    void (*descend)(const Descent<T>&, int64_t begin, int64_t end, T* memory);
    void (*squared_shares)(const Shared<T>&, int64_t begin, int64_t end);
};

struct Level {
    const char* name;
    Kernels<float> single;
    Kernels<double> twofold;
    void (*gamma_functions)(const double* x, double* digamma, double* log_gamma, int64_t n);
};

template <class T> const Kernels<T>& kernels_of(const Level& level);
template <> inline const Kernels<float>& kernels_of<float>(const Level& level) { return level.single; }
template <> inline const Kernels<double>& kernels_of<double>(const Level& level) { return level.twofold; }

}  // namespace isotopic
