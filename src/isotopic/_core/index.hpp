// Sparse counts by feature: an index of each row block, and the whole matrix turned around.
#pragma once
#include <cstdint>
#include <vector>
#include "memory.hpp"

namespace isotopic {

// A canonical sparse matrix (by sample), its row blocks, and each block's entries by feature.
template <class T> struct Matrix {
    int64_t n_samples, n_features, n_blocks;
    const int64_t* row_starts;
    const int32_t* features;
    const T* values;
    const int64_t* block_rows;  // n_blocks + 1
    // null when only the weights' counts are wanted
    const int64_t* block_columns;  // n_blocks + 1
    const int32_t* column_features;
    const uint32_t* column_starts;  // n + 1 for each block of n columns, from the block's first entry
    const uint16_t* entry_rows;
    const uint32_t* entry_order;
};

struct ColumnIndex {
    std::vector<int64_t> block_columns;  // n_blocks + 1
    std::vector<int32_t> column_features;
    std::vector<uint32_t> column_starts;  // n + 1 for each block of n columns, from the block's first entry
    Uninitialized<uint16_t> entry_rows;   // from the block's first row
    Uninitialized<uint32_t> entry_order;  // from the block's first entry
};

// The entries of each row block ordered by feature, then sample.
ColumnIndex column_index(int64_t n_features, int64_t n_blocks, const int64_t* block_rows, const int64_t* row_starts,
                         const int32_t* features, int threads);

// Features x samples: the rows of the result are features.
template <class T> struct Turned {
    std::vector<int64_t> row_starts;
    Uninitialized<int32_t> samples;
    Uninitialized<T> values;
};

// With the help of the index: the entries of a feature stand together in each block already.
template <class T> Turned<T> turned(const Matrix<T>& x);

}  // namespace isotopic
