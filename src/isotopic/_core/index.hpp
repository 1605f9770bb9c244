// Sparse counts by feature: an index of each row block.
#pragma once
#include <cstdint>
#include <vector>
#include "memory.hpp"

namespace isotopic {

// A canonical sparse matrix (by sample), its row blocks, and each block's entries by feature.
template <class T> struct Matrix {
    int64_t n_samples = 0;
    int64_t n_features = 0;
    int64_t n_blocks = 0;
    const int64_t* row_starts = nullptr;
    const int32_t* features = nullptr;
    const T* values = nullptr;
    const int64_t* block_rows = nullptr;  // n_blocks + 1
    // The entries by feature, as in ColumnIndex; null when only the weights' counts are needed.
    const int64_t* block_columns = nullptr;
    const int32_t* column_features = nullptr;
    const uint32_t* column_starts = nullptr;
    const uint16_t* entry_rows = nullptr;
    const uint32_t* entry_order = nullptr;
    const int64_t* feature_entries = nullptr;
};

// The positions of the entries of a sparse matrix, and its row blocks.
struct Pattern {
    int64_t n_features = 0;
    int64_t n_blocks = 0;
    const int64_t* block_rows = nullptr;  // n_blocks + 1
    const int64_t* row_starts = nullptr;
    const int32_t* features = nullptr;
};

// The entries of each row block in the order of their features, then samples. Only column_index()
// makes one, so its rows and positions lie within the blocks that it was made for.
struct ColumnIndex {
    int64_t n_features = 0;
    std::vector<int64_t> feature_entries;  // the number of each feature's entries
    std::vector<int64_t> block_rows;       // n_blocks + 1
    std::vector<int64_t> block_starts;     // n_blocks + 1: the first entry of each block
    std::vector<int64_t> block_columns;    // n_blocks + 1
    std::vector<int32_t> column_features;
    // A block of n columns has n + 1 starts, counted from the block's first entry.
    std::vector<uint32_t> column_starts;
    Uninitialized<uint16_t> entry_rows;   // counted from the block's first row
    Uninitialized<uint32_t> entry_order;  // counted from the block's first entry

    // Returns whether the matrix has the same features, and blocks of the same sizes.
    bool fits(const Pattern& pattern) const;
};

ColumnIndex column_index(const Pattern& pattern, int threads);

// Orders the values of the entries as the index has them.
template <class V> void order_values(const ColumnIndex& index, const V* values, V* to);

// Values in the order of the index: whole numbers of 16 bits, or all others.
template <class T> struct OrderedValues {
    const uint16_t* whole = nullptr;
    const T* other = nullptr;
};

// Copies the entries of the features [begin, end), which are spread over the blocks: the rows of
// the transposed matrix. Row v - begin has the entries from starts[v - begin] on.
template <class T>
void gather_features(const Matrix<T>& x, const OrderedValues<T>& ordered, int64_t begin,
                     int64_t end, int64_t* starts, int32_t* samples, T* values);

}  // namespace isotopic
