// What all bindings need: arrays of NumPy, checks of their shapes, and how to run a loop of the
// core.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "../histogram.hpp"
#include "../sampling.hpp"

namespace isotopic {

namespace nb = nanobind;
using namespace nb::literals;

template <class T> using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> using Out3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

// Returns whether positions start at zero, never decrease, and end at `last`.
inline bool ascends(const In<int64_t>& positions, size_t last) {
    const int64_t *begin = positions.data(), *end = begin + positions.size();
    return begin != end && *begin == 0 && size_t(end[-1]) == last && std::is_sorted(begin, end);
}

inline bool signal_pending() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Runs work(execution) with the GIL released. If a signal handler raised, raises its exception.
template <class Work> void run(int threads, const Work& work) {
    bool complete;
    {
        nb::gil_scoped_release nogil;
        complete = work(Execution{.threads = threads, .interrupted = signal_pending});
    }
    if (!complete) throw nb::python_error();
}

template <class A> auto data_or_null(const std::optional<A>& array) {
    return array ? array->data() : nullptr;
}

template <class A> bool has_shape(const A& array, size_t rows, size_t columns) {
    return array.shape(0) == rows && array.shape(1) == columns;
}

template <class T> Table<const T> table_of(const In2<T>& a) {
    return {.rows = int64_t(a.shape(0)), .columns = int64_t(a.shape(1)), .data = a.data()};
}

inline bool are_features(const In<int32_t>& features, int64_t n_features) {
    return std::all_of(features.data(), features.data() + features.size(),
                       [&](int32_t v) { return v >= 0 && v < n_features; });
}

template <class T>
Matrix<T> matrix_of(size_t n_features, const In<int64_t>& row_starts, const In<int32_t>& features,
                    const In<T>& values, const In<int64_t>& block_rows,
                    const ColumnIndex* by_feature) {
    require(row_starts.size() > 0 && ascends(row_starts, values.size()) &&
                features.size() == values.size(),
            "row_starts, features and values do not fit");
    require(ascends(block_rows, row_starts.size() - 1),
            "block_rows do not ascend from 0 to the number of samples");
    require(!by_feature || by_feature->fits({.n_features = int64_t(n_features),
                                             .n_blocks = int64_t(block_rows.size()) - 1,
                                             .block_rows = block_rows.data(),
                                             .row_starts = row_starts.data()}),
            "the index by feature is of another matrix");
    Matrix<T> x{
        .n_samples = int64_t(row_starts.size()) - 1,
        .n_features = int64_t(n_features),
        .n_blocks = int64_t(block_rows.size()) - 1,
        .row_starts = row_starts.data(),
        .features = features.data(),
        .values = values.data(),
        .block_rows = block_rows.data(),
    };
    if (by_feature) {
        x.block_columns = by_feature->block_columns.data();
        x.column_features = by_feature->column_features.data();
        x.column_starts = by_feature->column_starts.data();
        x.entry_rows = by_feature->entry_rows.data();
        x.entry_order = by_feature->entry_order.data();
        x.feature_entries = by_feature->feature_entries.data();
    }
    return x;
}

// Each adds the functions of one file to the module.
void bind_data(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_samples(nb::module_& m);
void bind_factors(nb::module_& m);
void bind_statistics(nb::module_& m);

}  // namespace isotopic
