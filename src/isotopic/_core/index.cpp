#include "index.hpp"

#include <algorithm>

#include "pool.hpp"

namespace isotopic {
namespace {

// Stores to addresses that are not in the cache wait for each other, so each address is prefetched
// this many entries ahead.
constexpr int64_t entries_ahead = 16;

// The features that occur in a block, and where the entries of each begin.
struct Columns {
    std::vector<int32_t> features;
    std::vector<uint32_t> starts;
};

// Orders the entries of one block by feature: writes their rows and positions to the index.
Columns order_by_feature(const Pattern& pattern, int64_t block, ColumnIndex& index) {
    const int64_t *row_starts = pattern.row_starts, n_features = pattern.n_features;
    const int32_t* features = pattern.features;
    const int64_t first_row = pattern.block_rows[block], end_row = pattern.block_rows[block + 1];
    const int64_t first = row_starts[first_row], n = row_starts[end_row] - first;
    uint16_t* entry_rows = index.entry_rows.data() + first;
    uint32_t* entry_order = index.entry_order.data() + first;
    std::vector<uint32_t> next(static_cast<size_t>(n_features));
    for (int64_t e = 0; e < n; ++e) ++next[size_t(features[first + e])];
    Columns columns;
    uint32_t start = 0;
    for (int64_t v = 0; v < n_features; ++v) {
        const uint32_t count = next[size_t(v)];
        if (!count) continue;
        columns.features.push_back(int32_t(v));
        columns.starts.push_back(start);
        next[size_t(v)] = start;
        start += count;
    }
    columns.starts.push_back(start);
    std::vector<uint16_t> row_of(static_cast<size_t>(n));
    for (int64_t d = first_row; d < end_row; ++d)
        std::fill(row_of.begin() + (row_starts[d] - first),
                  row_of.begin() + (row_starts[d + 1] - first), uint16_t(d - first_row));
    for (int64_t e = 0; e < n; ++e) {
        const int64_t later = std::min(e + entries_ahead, n - 1);
        __builtin_prefetch(entry_order + next[size_t(features[first + later])], 1);
        entry_order[next[size_t(features[first + e])]++] = uint32_t(e);
    }
    for (int64_t i = 0; i < n; ++i) entry_rows[i] = row_of[entry_order[i]];
    return columns;
}

}  // namespace

ColumnIndex column_index(const Pattern& pattern, int threads) {
    ColumnIndex index;
    const int64_t n_blocks = pattern.n_blocks;
    index.n_features = pattern.n_features;
    for (int64_t b = 0; b <= n_blocks; ++b) {
        index.block_rows.push_back(pattern.block_rows[b]);
        index.block_starts.push_back(pattern.row_starts[pattern.block_rows[b]]);
    }
    const size_t n_entries = size_t(pattern.row_starts[pattern.block_rows[n_blocks]]);
    index.entry_rows = Uninitialized<uint16_t>(n_entries);
    index.entry_order = Uninitialized<uint32_t>(n_entries);
    std::vector<Columns> blocks(static_cast<size_t>(n_blocks));
    Steps({n_blocks}, threads)
        .run([&](int64_t, int64_t b) { blocks[size_t(b)] = order_by_feature(pattern, b, index); },
             [] { return false; });
    index.block_columns.push_back(0);
    for (const Columns& block : blocks)
        index.block_columns.push_back(index.block_columns.back() + int64_t(block.features.size()));
    index.column_features.reserve(size_t(index.block_columns.back()));
    index.column_starts.reserve(size_t(index.block_columns.back() + n_blocks));
    for (const Columns& block : blocks) {
        index.column_features.insert(index.column_features.end(), block.features.begin(),
                                     block.features.end());
        index.column_starts.insert(index.column_starts.end(), block.starts.begin(),
                                   block.starts.end());
    }
    index.feature_entries.assign(size_t(pattern.n_features), 0);
    for (const Columns& block : blocks)
        for (size_t c = 0; c < block.features.size(); ++c)
            index.feature_entries[size_t(block.features[c])] +=
                block.starts[c + 1] - block.starts[c];
    return index;
}

bool ColumnIndex::fits(const Pattern& pattern) const {
    if (pattern.n_features != n_features || size_t(pattern.n_blocks) + 1 != block_rows.size())
        return false;
    for (size_t b = 0; b < block_rows.size(); ++b)
        if (pattern.block_rows[b] != block_rows[b] ||
            pattern.row_starts[block_rows[b]] != block_starts[b])
            return false;
    return true;
}

template <class V> void order_values(const ColumnIndex& index, const V* values, V* to) {
    for (size_t b = 0; b + 1 < index.block_starts.size(); ++b) {
        const int64_t first = index.block_starts[b];
        for (int64_t e = first; e < index.block_starts[b + 1]; ++e)
            to[e] = values[first + index.entry_order.data()[e]];
    }
}

template <class T>
void gather_features(const Matrix<T>& x, const OrderedValues<T>& ordered, int64_t begin,
                     int64_t end, int64_t* starts, int32_t* samples, T* values) {
    // While entries are copied, the start of a row is where its next entry goes.
    int64_t start = 0;
    for (int64_t v = begin; v < end; ++v) {
        starts[v - begin + 1] = start;
        start += x.feature_entries[v];
    }
    for (int64_t b = 0; b < x.n_blocks; ++b) {
        const int32_t *first_column = x.column_features + x.block_columns[b],
                      *last_column = x.column_features + x.block_columns[b + 1];
        const int32_t* column = std::lower_bound(first_column, last_column, begin);
        const uint32_t* column_starts = x.column_starts + b + (column - x.column_features);
        const int64_t first_row = x.block_rows[b], first = x.row_starts[first_row];
        for (; column != last_column && *column < end; ++column, ++column_starts) {
            int64_t& next = starts[*column - begin + 1];
            for (int64_t e = first + column_starts[0]; e < first + column_starts[1]; ++e, ++next) {
                samples[next] = int32_t(first_row + x.entry_rows[e]);
                values[next] = ordered.whole ? T(ordered.whole[e]) : ordered.other[e];
            }
        }
    }
    starts[0] = 0;
}

template void order_values(const ColumnIndex&, const uint16_t*, uint16_t*);
template void order_values(const ColumnIndex&, const float*, float*);
template void order_values(const ColumnIndex&, const double*, double*);
template void gather_features(const Matrix<float>&, const OrderedValues<float>&, int64_t, int64_t,
                              int64_t*, int32_t*, float*);
template void gather_features(const Matrix<double>&, const OrderedValues<double>&, int64_t, int64_t,
                              int64_t*, int32_t*, double*);

}  // namespace isotopic
