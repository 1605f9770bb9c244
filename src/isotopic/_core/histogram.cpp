#include "histogram.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "pool.hpp"

namespace isotopic {
namespace {

// Rows are cut into slabs that have histograms of their own, which are added in order. Their number
// depends on the data alone, so the bits do not depend on the threads.
constexpr int64_t slab_elements = 1 << 16, most_slabs = 16, most_doubles = 1 << 22;
constexpr int64_t tile_columns = 32;  // columns of a chunk, if each has its own histogram

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The bits of a double above those that lie between two nodes of an octave.
constexpr int bits_between = 52 - 3;
static_assert(nodes_per_octave == 8, "the first three bits of the mantissa number the node");
constexpr int64_t first_node = int64_t(1023 + first_octave) * nodes_per_octave;

constexpr double half_pi = 1.57079632679489661923;

double size_of_node(int64_t node) {
    const uint64_t bits = uint64_t(first_node + node) << bits_between;
    double size;
    std::memcpy(&size, &bits, sizeof size);
    return size;
}

// Sizes and shares of all nodes, shares first.
struct Nodes {
    std::vector<double> sizes, shares;
    Nodes() {
        for (int64_t share = 0; share < share_nodes; ++share)
            for (int64_t node = 0; node < size_nodes; ++node) {
                sizes.push_back(size_of_node(node));
                const double root = std::sin(share * half_pi / (share_nodes - 1));
                shares.push_back(root * root);
            }
    }
};

// Divides the weight of a count among the nodes around it.
void add(double size, double share, double weight, double* histogram) {
    uint64_t bits;
    std::memcpy(&bits, &size, sizeof bits);
    int64_t node = int64_t(bits >> bits_between) - first_node;
    double beyond =
        double(bits & ((uint64_t(1) << bits_between) - 1)) / double(uint64_t(1) << bits_between);
    if (node < 0) {
        weight *= size / size_of_node(0);
        node = 0, beyond = 0;
    } else if (node >= size_nodes - 1) {
        node = size_nodes - 2, beyond = 1;
    }
    const double scaled = std::asin(std::sqrt(share)) / half_pi * (share_nodes - 1);
    const int64_t row = std::min(int64_t(share_nodes) - 2, int64_t(scaled));
    const double upper = weight * (scaled - double(row)), lower = weight - upper;
    double* at = histogram + row * size_nodes + node;
    at[0] += lower * (1 - beyond);
    at[1] += lower * beyond;
    at[size_nodes] += upper * (1 - beyond);
    at[size_nodes + 1] += upper * beyond;
}

}  // namespace

template <class T>
bool count_histogram(const Table<const T>& counts, const T* squares, const double* copies,
                     bool by_column, double* to, const Execution& execution) {
    const int64_t rows = counts.rows, columns = counts.columns;
    const int64_t sums = histogram_nodes, groups = by_column ? columns : 1;
    const int64_t most =
        std::clamp(most_doubles / (std::max<int64_t>(groups, 1) * sums), int64_t(1), most_slabs);
    const int64_t slabs = std::clamp(ceil_div(rows * columns, slab_elements), int64_t(1), most);
    const int64_t slab_rows = ceil_div(rows, slabs), tile = by_column ? tile_columns : columns;
    const int64_t tiles = std::max<int64_t>(1, ceil_div(columns, std::max<int64_t>(1, tile)));
    std::vector<double> parts(size_t(slabs * groups * sums));

    Steps steps({slabs * tiles}, execution.threads);
    const bool complete = steps.run(
        [&](int64_t, int64_t chunk) {
            const int64_t slab = chunk / tiles, first = chunk % tiles * tile;
            const int64_t last = std::min(columns, first + tile);
            double* part = parts.data() + slab * groups * sums;
            for (int64_t i = slab * slab_rows; i < std::min(rows, (slab + 1) * slab_rows); ++i) {
                const double repeats = copies ? copies[i] : 1.0;
                for (int64_t j = first; j < last; ++j) {
                    const double size = double(counts.data[i * columns + j]);
                    if (!(size > 0)) continue;
                    const double square = squares ? double(squares[i * columns + j]) : 0.0;
                    const double ratio = square / size;  // infinite counts give no number
                    const double share = ratio > 0 ? std::min(ratio, 1.0) : 0.0;
                    add(size, share, repeats, part + (by_column ? j * sums : 0));
                }
            }
        },
        execution.interrupted);
    if (!complete) return false;
    std::fill(to, to + groups * sums, 0.0);
    for (int64_t slab = 0; slab < slabs; ++slab)
        for (int64_t i = 0; i < groups * sums; ++i)
            to[i] += parts[size_t(slab * groups * sums + i)];
    return true;
}

bool concentration_rises(const double* histogram, int64_t groups, const double* concentration,
                         Occurs occurs, double* to, const Execution& execution) {
    static const Nodes nodes;
    const Level& level = current_level();
    Steps steps({groups}, execution.threads);
    return steps.run(
        [&](int64_t, int64_t group) {
            const Bins bins{.n = histogram_nodes,
                            .weights = histogram + group * histogram_nodes,
                            .sizes = nodes.sizes.data(),
                            .shares = nodes.shares.data()};
            to[group] = level.rises(bins, concentration[group], occurs);
        },
        execution.interrupted);
}

template bool count_histogram(const Table<const float>&, const float*, const double*, bool, double*,
                              const Execution&);
template bool count_histogram(const Table<const double>&, const double*, const double*, bool,
                              double*, const Execution&);

}  // namespace isotopic
