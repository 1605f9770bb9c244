// Histograms of expected counts, from which concentrations are learned.
#pragma once
#include "pass.hpp"

namespace isotopic {

// A histogram has nodes of certain sizes and shares (square over count). The weight of a count is
// divided among the four nodes around it, as in bilinear interpolation: so the histogram changes
// continuously with the counts. Nodes are an eighth of an octave apart in size. Shares are those
// of sin^2 at equal distances, because everything bends most near zero and one. Below the first
// node the rest of the weight belongs to a size of zero, which is left out.
constexpr int nodes_per_octave = 8, first_octave = -12, octaves = 36, share_nodes = 9;
constexpr int64_t size_nodes = int64_t(nodes_per_octave) * octaves;
constexpr int64_t histogram_nodes = size_nodes * share_nodes;

// Adds up the histogram of each column, or of all columns together: groups x nodes.
// Counts of zero are left out. `squares` and `copies` (by row) may be null.
template <class T>
bool count_histogram(const Table<const T>& counts, const T* squares, const double* copies,
                     bool by_column, double* to, const Execution& execution);

// Of each group, computes the sum of probability * (digamma(a + size) - digamma(a)) with the
// concentration a of the group; see occurrence.hpp for the probability and the size of a count.
bool concentration_rises(const double* histogram, int64_t groups, const double* concentration,
                         Occurs occurs, double* to, const Execution& execution);

}  // namespace isotopic
