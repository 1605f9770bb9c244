// The Python bindings of the core. They check shapes, release the GIL and react to Ctrl-C.
//
// Nothing outside of the given arrays is read or written, whatever they contain: the loops check
// the features of each chunk, and the index by feature is an object that only column_index() makes.
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

#include "histogram.hpp"
#include "sampling.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace isotopic {
namespace {

template <class T> using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> using Out3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

// Returns whether positions start at zero, never decrease, and end at `last`.
bool ascends(const In<int64_t>& positions, size_t last) {
    const int64_t *begin = positions.data(), *end = begin + positions.size();
    return begin != end && *begin == 0 && size_t(end[-1]) == last && std::is_sorted(begin, end);
}

bool signal_pending() {
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

bool are_features(const In<int32_t>& features, int64_t n_features) {
    return std::all_of(features.data(), features.data() + features.size(),
                       [&](int32_t v) { return v >= 0 && v < n_features; });
}

// Hands the values over to Python.

template <class V> nb::object array_of(V&& values) {
    using T = typename std::decay_t<V>::value_type;
    auto* kept = new std::decay_t<V>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::decay_t<V>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

ColumnIndex column_index_of(int64_t n_features, In<int64_t> block_rows, In<int64_t> row_starts,
                            In<int32_t> features, int threads) {
    require(n_features >= 0 && n_features <= std::numeric_limits<int32_t>::max(),
            "n_features is not a number of features");
    require(ascends(row_starts, features.size()),
            "row_starts do not ascend from 0 to the number of entries");
    require(ascends(block_rows, row_starts.size() - 1),
            "block_rows do not ascend from 0 to the number of samples");
    for (size_t b = 0; b + 1 < block_rows.size(); ++b) {
        const int64_t first = block_rows.data()[b], last = block_rows.data()[b + 1];
        require(last - first <= int64_t(1) << 16, "a block has more than 2^16 samples");
        require(row_starts.data()[last] - row_starts.data()[first] < int64_t(1) << 32,
                "a block has 2^32 entries or more");
    }
    require(are_features(features, n_features), "a feature is not between 0 and n_features");
    nb::gil_scoped_release nogil;
    return column_index({.n_features = n_features,
                         .n_blocks = int64_t(block_rows.size()) - 1,
                         .block_rows = block_rows.data(),
                         .row_starts = row_starts.data(),
                         .features = features.data()},
                        threads);
}

// Returns the arrays of an index, read-only.
nb::tuple arrays_of(nb::handle_t<ColumnIndex> self) {
    const ColumnIndex& index = nb::cast<const ColumnIndex&>(self);
    const auto view = [&](const auto& values) {
        using T = const std::remove_pointer_t<decltype(values.data())>;
        return nb::cast(
            nb::ndarray<nb::numpy, T, nb::ndim<1>>(values.data(), {values.size()}, self));
    };
    return nb::make_tuple(view(index.block_columns), view(index.column_features),
                          view(index.column_starts), view(index.entry_rows),
                          view(index.entry_order));
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
    }
    return x;
}

template <class T> void bind_transpose(nb::module_& m) {
    m.def(
        "transpose",
        [](int64_t n_features, In<int64_t> block_rows, In<int64_t> row_starts, In<int32_t> features,
           In<T> values, const ColumnIndex& by_feature) {
            require(n_features >= 0, "n_features is not a number of features");
            const Matrix<T> x = matrix_of<T>(size_t(n_features), row_starts, features, values,
                                             block_rows, &by_feature);
            Transposed<T> result;
            {
                nb::gil_scoped_release nogil;
                result = transpose<T>(x);
            }
            return nb::make_tuple(array_of(std::move(result.row_starts)),
                                  array_of(std::move(result.samples)),
                                  array_of(std::move(result.values)));
        },
        "n_features"_a, "block_rows"_a.noconvert(), "row_starts"_a.noconvert(),
        "features"_a.noconvert(), "values"_a.noconvert(), "by_feature"_a);
}

template <class T>
void bind_expected_counts(nb::module_& m) {
    m.def(
        "expected_counts",
        [](In<int64_t> row_starts, In<int32_t> features, In<T> values, In<int64_t> block_rows,
           const ColumnIndex* by_feature, In2<T> weights, In2<T> topics, Out2<T> weight_counts,
           std::optional<Out2<T>> topic_counts, Out<double> log_likelihoods, Workspace& workspace,
           int threads) {
            const size_t n_samples = weights.shape(0), n_features = topics.shape(0),
                         components = weights.shape(1);
            require(components > 0 && topics.shape(1) == components,
                    "weights and topics differ in components");
            require(row_starts.size() == n_samples + 1, "row_starts and weights differ in samples");
            require(has_shape(weight_counts, n_samples, components) &&
                        log_likelihoods.size() == n_samples,
                    "weight_counts or log_likelihoods has a wrong shape");
            require(!topic_counts || has_shape(*topic_counts, n_features, components),
                    "topic_counts has a wrong shape");
            require(!topic_counts || by_feature, "topic_counts need the index by feature");
            const Matrix<T> x =
                matrix_of<T>(n_features, row_starts, features, values, block_rows, by_feature);
            const Factors<T> factors{.components = int64_t(components),
                                     .weights = weights.data(),
                                     .topics = topics.data()};
            const ExpectedCounts<T> results{.weights = weight_counts.data(),
                                            .topics = data_or_null(topic_counts),
                                            .log_likelihoods = log_likelihoods.data()};
            run(threads, [&](const Execution& execution) {
                return expected_counts<T>(x, factors, results, workspace, execution);
            });
        },
        "row_starts"_a.noconvert(), "features"_a.noconvert(), "values"_a.noconvert(),
        "block_rows"_a.noconvert(), "by_feature"_a.none(), "weights"_a.noconvert(),
        "topics"_a.noconvert(), "weight_counts"_a.noconvert(), "topic_counts"_a.none(),
        "log_likelihoods"_a.noconvert(), "workspace"_a, "threads"_a);
}

template <class T> void require_padded(const In2<T>& topics, size_t components) {
    require(components > 0 &&
                int64_t(topics.shape(1)) == padded_components<T>(int64_t(components)) &&
                reinterpret_cast<uintptr_t>(topics.data()) % 64 == 0,
            "topics are not padded for this number of components: see pad_topics");
}

// Returns whether all rows lie within the entries.
bool lie_within(const In<int64_t>& starts, const In<int64_t>& ends, size_t n_entries) {
    for (size_t d = 0; d < starts.size(); ++d)
        if (starts.data()[d] < 0 || starts.data()[d] > ends.data()[d] ||
            size_t(ends.data()[d]) > n_entries)
            return false;
    return true;
}

template <class T> void bind_row_pass(nb::module_& m) {
    m.def(
        "pad_topics",
        [](In2<T> topics, int threads) {
            const size_t n_features = topics.shape(0), components = topics.shape(1);
            require(components > 0, "topics have no components");
            Padded<T> result =
                pad_topics<T>(int64_t(n_features), int64_t(components), topics.data(), threads);
            nb::capsule owner(result.get(), deallocate);
            const size_t padded = size_t(padded_components<T>(int64_t(components)));
            return nb::ndarray<nb::numpy, T, nb::ndim<2>>(result.release(), {n_features, padded},
                                                          owner);
        },
        "topics"_a.noconvert(), "threads"_a);

    m.def(
        "row_pass",
        [](In<int64_t> row_starts, In<int64_t> row_ends, In<int32_t> features, In<T> values,
           In2<T> weights, In2<T> topics, Out2<T> weight_counts, Out<double> log_likelihoods,
           int threads) {
            const size_t rows = weights.shape(0), components = weights.shape(1);
            require_padded<T>(topics, components);
            require(row_starts.size() == rows && row_ends.size() == rows &&
                        features.size() == values.size() &&
                        lie_within(row_starts, row_ends, values.size()),
                    "row_starts, row_ends, features and values do not fit");
            require(has_shape(weight_counts, rows, components) && log_likelihoods.size() == rows,
                    "weight_counts or log_likelihoods has a wrong shape");
            const Rows<T> x{.n_rows = int64_t(rows),
                            .n_features = int64_t(topics.shape(0)),
                            .n_entries = int64_t(values.size()),
                            .starts = row_starts.data(),
                            .ends = row_ends.data(),
                            .features = features.data(),
                            .values = values.data()};
            const Factors<T> factors{.components = int64_t(components),
                                     .weights = weights.data(),
                                     .topics = topics.data()};
            const ExpectedCounts<T> results{.weights = weight_counts.data(),
                                            .log_likelihoods = log_likelihoods.data()};
            run(threads, [&](const Execution& execution) {
                return row_pass<T>(x, factors, results, execution);
            });
        },
        "row_starts"_a.noconvert(), "row_ends"_a.noconvert(), "features"_a.noconvert(),
        "values"_a.noconvert(), "weights"_a.noconvert(), "topics"_a.noconvert(),
        "weight_counts"_a.noconvert(), "log_likelihoods"_a.noconvert(), "threads"_a);
}

template <class T> void bind_infer(nb::module_& m) {
    m.def(
        "infer",
        [](In<int64_t> row_starts, In<int64_t> row_ends, In<int32_t> features, In<T> values,
           In2<T> topics, In2<double> prior, std::optional<In2<T>> others,
           std::optional<In<double>> scale, bool is_variational, double tol, int max_updates,
           In<double> schedule, Out2<T> counts, std::optional<Out2<T>> squares,
           Out<double> log_likelihoods, Out<double> residuals, Out<int64_t> updates, int threads) {
            const size_t rows = counts.shape(0), components = counts.shape(1);
            require_padded<T>(topics, components);
            require(row_starts.size() == rows && row_ends.size() == rows &&
                        features.size() == values.size() &&
                        lie_within(row_starts, row_ends, values.size()),
                    "row_starts, row_ends, features and values do not fit");
            require(prior.shape(1) == components && (prior.shape(0) == 1 || prior.shape(0) == rows),
                    "prior has a wrong shape");
            require(!others || has_shape(*others, rows, components), "others have a wrong shape");
            require(!scale || scale->size() == components, "scale has a wrong length");
            require(!squares || has_shape(*squares, rows, components),
                    "squares have a wrong shape");
            require(log_likelihoods.size() == rows && residuals.size() == rows &&
                        updates.size() == rows,
                    "log_likelihoods, residuals or updates have a wrong length");
            require(schedule.size() == 7, "schedule must have seven numbers");
            const double* by = schedule.data();
            const Inference<T> inference{
                .components = int64_t(components),
                .padded = int64_t(topics.shape(1)),
                .n_features = int64_t(topics.shape(0)),
                .row_starts = row_starts.data(),
                .row_ends = row_ends.data(),
                .features = features.data(),
                .values = values.data(),
                .topics = topics.data(),
                .prior = prior.data(),
                .one_prior = prior.shape(0) == 1,
                .others = data_or_null(others),
                .scale = data_or_null(scale),
                .is_variational = is_variational,
                .tol = tol,
                .max_updates = max_updates,
                .first_momentum = by[0],
                .least_momentum = by[1],
                .most_momentum = by[2],
                .growth = by[3],
                .first_floor = by[4],
                .shrinkage = by[5],
                .floor_to_residual = by[6],
                .counts = counts.data(),
                .squares = squares ? squares->data() : nullptr,
                .log_likelihoods = log_likelihoods.data(),
                .residuals = residuals.data(),
                .updates = updates.data(),
            };
            run(threads, [&](const Execution& execution) {
                return infer<T>(inference, int64_t(rows), execution);
            });
        },
        "row_starts"_a.noconvert(), "row_ends"_a.noconvert(), "features"_a.noconvert(),
        "values"_a.noconvert(), "topics"_a.noconvert(), "prior"_a.noconvert(), "others"_a.none(),
        "scale"_a.none(), "is_variational"_a, "tol"_a, "max_updates"_a, "schedule"_a.noconvert(),
        "counts"_a.noconvert(), "squares"_a.none(), "log_likelihoods"_a.noconvert(),
        "residuals"_a.noconvert(), "updates"_a.noconvert(), "threads"_a);
}

template <class T> void bind_descend(nb::module_& m) {
    m.def(
        "descend",
        [](In<int64_t> row_starts, In<int32_t> features, In<T> values, In2<T> others,
           In<double> slopes, std::optional<In<double>> repeats, int sweeps, In2<T> from,
           Out2<T> to, int threads) {
            const size_t rows = from.shape(0), components = from.shape(1);
            require_padded<T>(others, components);
            require(slopes.size() == components, "from and slopes differ in components");
            require(row_starts.size() == rows + 1 && ascends(row_starts, values.size()) &&
                        features.size() == values.size(),
                    "row_starts, features and values do not fit");
            require(has_shape(to, rows, components), "from and to differ in shape");
            require(!repeats || repeats->size() == rows, "repeats have a wrong length");
            require(sweeps >= 0, "sweeps is negative");
            const Descent<T> descent{
                .components = int64_t(components),
                .padded = int64_t(others.shape(1)),
                .n_features = int64_t(others.shape(0)),
                .sweeps = sweeps,
                .row_starts = row_starts.data(),
                .features = features.data(),
                .values = values.data(),
                .others = others.data(),
                .slopes = slopes.data(),
                .repeats = data_or_null(repeats),
                .from = from.data(),
                .to = to.data(),
            };
            run(threads, [&](const Execution& execution) {
                return descend<T>(descent, int64_t(rows), execution);
            });
        },
        "row_starts"_a.noconvert(), "features"_a.noconvert(), "values"_a.noconvert(),
        "others"_a.noconvert(), "slopes"_a.noconvert(), "repeats"_a.none(), "sweeps"_a,
        "from_"_a.noconvert(), "to"_a.noconvert(), "threads"_a);
}

void bind_select_topics(nb::module_& m) {
    m.def(
        "select_topics",
        [](In<int64_t> row_starts, In<int32_t> features, In<double> values, In2<double> topics,
           In<double> penalties, double background, double fall, double least_margin,
           bool estimates_dispersion, Out2<double> weights, Out2<double> losses,
           Out2<double> margins, Out2<double> lower, Out2<double> upper, Out<double> dispersions,
           int threads) {
            const size_t rows = weights.shape(0), components = weights.shape(1);
            require(components > 0 && topics.shape(1) == components,
                    "weights and topics differ in components");
            require(row_starts.size() == rows + 1 && ascends(row_starts, values.size()) &&
                        features.size() == values.size(),
                    "row_starts, features and values do not fit");
            require(are_features(features, int64_t(topics.shape(0))),
                    "a feature is not among those of the topics");
            require(penalties.size() == rows, "penalties and weights differ in samples");
            require(has_shape(losses, rows, components) && has_shape(margins, rows, components) &&
                        has_shape(lower, rows, components) && has_shape(upper, rows, components) &&
                        dispersions.size() == rows,
                    "the results differ in shape");
            const Selection selection{
                .components = int64_t(components),
                .n_features = int64_t(topics.shape(0)),
                .row_starts = row_starts.data(),
                .features = features.data(),
                .values = values.data(),
                .topics = topics.data(),
                .penalties = penalties.data(),
                .background = background,
                .fall = fall,
                .least_margin = least_margin,
                .estimates_dispersion = estimates_dispersion,
                .weights = weights.data(),
                .losses = losses.data(),
                .margins = margins.data(),
                .lower = lower.data(),
                .upper = upper.data(),
                .dispersions = dispersions.data(),
            };
            run(threads, [&](const Execution& execution) {
                return select_topics(selection, int64_t(rows), execution);
            });
        },
        "row_starts"_a.noconvert(), "features"_a.noconvert(), "values"_a.noconvert(),
        "topics"_a.noconvert(), "penalties"_a.noconvert(), "background"_a, "fall"_a,
        "least_margin"_a, "estimates_dispersion"_a, "weights"_a.noconvert(), "losses"_a.noconvert(),
        "margins"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "dispersions"_a.noconvert(), "threads"_a);
}

void bind_fit_rates(nb::module_& m) {
    m.def(
        "fit_rates",
        [](In<int64_t> column_starts, In<int32_t> samples, In<double> values, In2<double> exposures,
           In<double> totals, In<double> overall, double pseudo_count, Out2<double> rates,
           Out2<double> covariance, int threads) {
            const size_t features = rates.shape(0), components = rates.shape(1);
            require(
                components > 0 && exposures.shape(1) == components && totals.size() == components,
                "rates, exposures and totals differ in components");
            require(column_starts.size() == features + 1 && ascends(column_starts, values.size()) &&
                        samples.size() == values.size() && overall.size() == features,
                    "column_starts, samples, values and overall do not fit");
            require(are_features(samples, int64_t(exposures.shape(0))),
                    "a sample is not among those of the exposures");
            require(has_shape(covariance, features, components * components),
                    "the covariance has a wrong shape");
            const RateFit fit{
                .components = int64_t(components),
                .column_starts = column_starts.data(),
                .samples = samples.data(),
                .values = values.data(),
                .exposures = exposures.data(),
                .totals = totals.data(),
                .overall = overall.data(),
                .pseudo_count = pseudo_count,
                .rates = rates.data(),
                .covariance = covariance.data(),
            };
            run(threads, [&](const Execution& execution) {
                return fit_rates(fit, int64_t(features), execution);
            });
        },
        "column_starts"_a.noconvert(), "samples"_a.noconvert(), "values"_a.noconvert(),
        "exposures"_a.noconvert(), "totals"_a.noconvert(), "overall"_a.noconvert(),
        "pseudo_count"_a, "rates"_a.noconvert(), "covariance"_a.noconvert(), "threads"_a);
}

// Returns whether a table of a stack has this shape, and is aligned to whole vectors.
template <class A> bool is_stacked(const A& table, size_t rows, size_t components) {
    return table.shape(0) == rows && table.shape(1) == components &&
           table.shape(2) == stack_width && reinterpret_cast<uintptr_t>(table.data()) % 64 == 0;
}

void bind_stack(nb::module_& m) {
    m.attr("STACK_WIDTH") = stack_width;
    m.def(
        "stacked_pass",
        [](In<int32_t> segment_features, In<int64_t> segment_starts, In<int32_t> entry_rows,
           In2<float> values, In3<float> weights, In3<float> topics, In2<double> totals,
           Out3<float> weight_counts, Out3<float> topic_counts, Out2<double> sums) {
            const size_t samples = weights.shape(0), features = topics.shape(0),
                         components = weights.shape(1), entries = entry_rows.size();
            const bool has_own_values = values.shape(1) == stack_width;
            require(components > 0 && is_stacked(weights, samples, components) &&
                        is_stacked(topics, features, components) &&
                        is_stacked(weight_counts, samples, components) &&
                        is_stacked(topic_counts, features, components),
                    "the factors and counts of the runs differ in shape or are not aligned");
            require(has_shape(totals, components, stack_width) && has_shape(sums, 3, stack_width),
                    "totals or sums have a wrong shape");
            require(values.shape(0) == entries && (has_own_values || values.shape(1) == 1) &&
                        (!has_own_values || reinterpret_cast<uintptr_t>(values.data()) % 64 == 0),
                    "values have a wrong shape or are not aligned");
            require(segment_starts.size() == segment_features.size() + 1 &&
                        ascends(segment_starts, entries),
                    "segment_starts do not ascend from 0 to the number of entries");
            require(are_features(segment_features, int64_t(features)) &&
                        are_features(entry_rows, int64_t(samples)),
                    "a feature or a sample is not among those of the factors");
            const Stack stack{
                .components = int64_t(components),
                .n_samples = int64_t(samples),
                .n_features = int64_t(features),
                .n_segments = int64_t(segment_features.size()),
                .segment_features = segment_features.data(),
                .segment_starts = segment_starts.data(),
                .entry_rows = entry_rows.data(),
                .has_own_values = has_own_values,
                .values = values.data(),
                .weights = weights.data(),
                .topics = topics.data(),
                .totals = totals.data(),
                .weight_counts = weight_counts.data(),
                .topic_counts = topic_counts.data(),
                .log_likelihoods = sums.data(),
                .weight_gaps = sums.data() + stack_width,
                .topic_gaps = sums.data() + 2 * stack_width,
            };
            nb::gil_scoped_release nogil;
            stacked_pass(stack);
        },
        "segment_features"_a.noconvert(), "segment_starts"_a.noconvert(),
        "entry_rows"_a.noconvert(), "values"_a.noconvert(), "weights"_a.noconvert(),
        "topics"_a.noconvert(), "totals"_a.noconvert(), "weight_counts"_a.noconvert(),
        "topic_counts"_a.noconvert(), "sums"_a.noconvert());
    m.def(
        "extrapolate_stack",
        [](In3<float> latest, In3<float> previous, In2<float> totals, In<float> momentum,
           In<float> floor, Out3<float> to) {
            const size_t rows = latest.shape(0), components = latest.shape(1);
            require(is_stacked(latest, rows, components) &&
                        is_stacked(previous, rows, components) && is_stacked(to, rows, components),
                    "the counts of the runs differ in shape or are not aligned");
            require(has_shape(totals, rows, stack_width) && momentum.size() == stack_width &&
                        floor.size() == stack_width,
                    "totals, momentum or floor have a wrong shape");
            const StackExtrapolation extrapolation{
                .rows = int64_t(rows),
                .components = int64_t(components),
                .latest = latest.data(),
                .previous = previous.data(),
                .totals = totals.data(),
                .momentum = momentum.data(),
                .floor = floor.data(),
                .to = to.data(),
            };
            nb::gil_scoped_release nogil;
            extrapolate_stack(extrapolation);
        },
        "latest"_a.noconvert(), "previous"_a.noconvert(), "totals"_a.noconvert(),
        "momentum"_a.noconvert(), "floor"_a.noconvert(), "to"_a.noconvert());
}

template <class T> void bind_elementwise(nb::module_& m) {
    m.def(
        "divide",
        [](In2<T> x, Out2<T> product, Out<double> log_likelihoods, int threads) {
            require(
                has_shape(product, x.shape(0), x.shape(1)) && log_likelihoods.size() == x.shape(0),
                "x, product and log_likelihoods differ in shape");
            run(threads, [&](const Execution& execution) {
                return divide<T>(table_of<T>(x), product.data(), log_likelihoods.data(), execution);
            });
        },
        "x"_a.noconvert(), "product"_a.noconvert(), "log_likelihoods"_a.noconvert(), "threads"_a);

    m.def(
        "effective_factor",
        [](In2<T> parameters, In2<T> counts, std::optional<In<double>> row_offsets,
           std::optional<In<double>> column_offsets, Out2<T> effective, Out<double> terms,
           int threads) {
            const size_t rows = parameters.shape(0), columns = parameters.shape(1);
            require(has_shape(counts, rows, columns) && has_shape(effective, rows, columns) &&
                        terms.size() == rows,
                    "parameters, counts, effective and terms differ in shape");
            require((!row_offsets || row_offsets->size() == rows) &&
                        (!column_offsets || column_offsets->size() == columns),
                    "offsets have a wrong length");
            const Posterior<T> posterior{
                .columns = int64_t(columns),
                .parameters = parameters.data(),
                .counts = counts.data(),
                .row_offsets = data_or_null(row_offsets),
                .column_offsets = data_or_null(column_offsets),
                .effective = effective.data(),
                .terms = terms.data(),
            };
            run(threads, [&](const Execution& execution) {
                return effective_factor<T>(posterior, int64_t(rows), execution);
            });
        },
        "parameters"_a.noconvert(), "counts"_a.noconvert(), "row_offsets"_a.none(),
        "column_offsets"_a.none(), "effective"_a.noconvert(), "terms"_a.noconvert(), "threads"_a);

    m.def(
        "mean_posterior",
        [](In2<T> parameters, In2<T> counts, std::optional<In2<T>> self_contribution,
           In2<double> prior, std::optional<In<double>> row_sums,
           std::optional<In<double>> column_sums, Out2<T> mean, std::optional<Out2<T>> effective,
           Out<double> terms, int threads) {
            const size_t rows = parameters.shape(0), columns = parameters.shape(1);
            require(has_shape(counts, rows, columns) && has_shape(mean, rows, columns) &&
                        (!self_contribution || has_shape(*self_contribution, rows, columns)) &&
                        (!effective || has_shape(*effective, rows, columns)) &&
                        terms.size() == rows,
                    "parameters, counts, mean, effective and terms differ in shape");
            require((prior.shape(0) == 1 || prior.shape(0) == rows) &&
                        (prior.shape(1) == 1 || prior.shape(1) == columns),
                    "prior has a wrong shape");
            require((row_sums && row_sums->size() == rows && !column_sums) ||
                        (column_sums && column_sums->size() == columns && !row_sums),
                    "there must be sums of the rows or of the columns");
            const MeanPosterior<T> posterior{
                .columns = int64_t(columns),
                .parameters = parameters.data(),
                .counts = counts.data(),
                .self_contribution = data_or_null(self_contribution),
                .prior = prior.data(),
                .prior_row = prior.shape(0) == 1 ? 0 : int64_t(prior.shape(1)),
                .prior_column = prior.shape(1) == 1 ? 0 : 1,
                .row_sums = data_or_null(row_sums),
                .column_sums = data_or_null(column_sums),
                .mean = mean.data(),
                .effective = effective ? effective->data() : nullptr,
                .terms = terms.data(),
            };
            run(threads, [&](const Execution& execution) {
                return mean_posterior<T>(posterior, int64_t(rows), execution);
            });
        },
        "parameters"_a.noconvert(), "counts"_a.noconvert(), "self_contribution"_a.none(),
        "prior"_a.noconvert(), "row_sums"_a.none(), "column_sums"_a.none(), "mean"_a.noconvert(),
        "effective"_a.none(), "terms"_a.noconvert(), "threads"_a);

    m.def(
        "distance",
        [](In2<T> a, In2<T> b, std::optional<In<double>> row_scale,
           std::optional<In<double>> column_scale, int threads) {
            require(has_shape(b, a.shape(0), a.shape(1)), "a and b differ in shape");
            require((!row_scale || row_scale->size() == a.shape(0)) &&
                        (!column_scale || column_scale->size() == a.shape(1)),
                    "a scale has a wrong length");
            const Difference<T> difference{.columns = int64_t(a.shape(1)),
                                           .a = a.data(),
                                           .b = b.data(),
                                           .row_scale = data_or_null(row_scale),
                                           .column_scale = data_or_null(column_scale)};
            nb::gil_scoped_release nogil;
            return distance<T>(difference, int64_t(a.shape(0)), threads);
        },
        "a"_a.noconvert(), "b"_a.noconvert(), "row_scale"_a.none(), "column_scale"_a.none(),
        "threads"_a);

    m.def(
        "row_distances",
        [](In2<T> a, In2<T> b, Out<double> to, int threads) {
            require(has_shape(b, a.shape(0), a.shape(1)) && to.size() == a.shape(0),
                    "a, b and the distances of their rows do not fit");
            const Difference<T> difference{
                .columns = int64_t(a.shape(1)), .a = a.data(), .b = b.data()};
            nb::gil_scoped_release nogil;
            row_distances<T>(difference, int64_t(a.shape(0)), to.data(), threads);
        },
        "a"_a.noconvert(), "b"_a.noconvert(), "to"_a.noconvert(), "threads"_a);

    m.def(
        "sums",
        [](In2<T> a, bool by_column, Out<double> to, int threads) {
            require(to.size() == a.shape(by_column ? 1 : 0), "a and its sums do not fit");
            nb::gil_scoped_release nogil;
            sums<T>(table_of<T>(a), by_column, to.data(), threads);
        },
        "a"_a.noconvert(), "by_column"_a, "to"_a.noconvert(), "threads"_a);

    m.def(
        "normalize",
        [](In2<T> a, bool by_column, In<double> sums, Out2<T> to, int threads) {
            require(
                sums.size() == a.shape(by_column ? 1 : 0) && has_shape(to, a.shape(0), a.shape(1)),
                "a, its sums and the result do not fit");
            nb::gil_scoped_release nogil;
            normalize<T>(table_of<T>(a), by_column, sums.data(), to.data(), threads);
        },
        "a"_a.noconvert(), "by_column"_a, "sums"_a.noconvert(), "to"_a.noconvert(), "threads"_a);

    m.def(
        "extrapolate",
        [](In2<T> latest, In2<T> previous, In<double> totals, In<double> momentum, In<double> floor,
           Out2<T> to, int threads) {
            const size_t rows = latest.shape(0), columns = latest.shape(1);
            require(has_shape(previous, rows, columns) && has_shape(to, rows, columns) &&
                        totals.size() == rows && momentum.size() == rows && floor.size() == rows,
                    "latest, previous, totals and the result differ in shape");
            const Extrapolation<T> extrapolation{.columns = int64_t(columns),
                                                 .latest = latest.data(),
                                                 .previous = previous.data(),
                                                 .totals = totals.data(),
                                                 .momentum = momentum.data(),
                                                 .floor = floor.data(),
                                                 .to = to.data()};
            nb::gil_scoped_release nogil;
            extrapolate<T>(extrapolation, int64_t(rows), threads);
        },
        "latest"_a.noconvert(), "previous"_a.noconvert(), "totals"_a.noconvert(),
        "momentum"_a.noconvert(), "floor"_a.noconvert(), "to"_a.noconvert(), "threads"_a);

    m.def(
        "squared_shares",
        [](In<int64_t> row_starts, In<int32_t> features, In<T> values, In2<T> weights,
           In2<T> topics, Out<T> to, int threads) {
            const size_t n_samples = weights.shape(0), components = weights.shape(1);
            require(components > 0 && topics.shape(1) == components,
                    "weights and topics differ in components");
            require(row_starts.size() == n_samples + 1 && ascends(row_starts, values.size()) &&
                        features.size() == values.size() && to.size() == values.size(),
                    "row_starts, features, values and the result do not fit");
            require(are_features(features, int64_t(topics.shape(0))),
                    "a feature is not among those of the topics");
            const SquaredShares<T> shares{
                .components = int64_t(components),
                .row_starts = row_starts.data(),
                .features = features.data(),
                .values = values.data(),
                .weights = weights.data(),
                .topics = topics.data(),
                .to = to.data(),
            };
            run(threads, [&](const Execution& execution) {
                return squared_shares<T>(shares, int64_t(n_samples), execution);
            });
        },
        "row_starts"_a.noconvert(), "features"_a.noconvert(), "values"_a.noconvert(),
        "weights"_a.noconvert(), "topics"_a.noconvert(), "to"_a.noconvert(), "threads"_a);
}

template <class T> void bind_histogram(nb::module_& m) {
    m.def(
        "count_histogram",
        [](In2<T> counts, std::optional<In2<T>> squares, std::optional<In<double>> copies,
           bool by_column, Out2<double> to, int threads) {
            const size_t rows = counts.shape(0), columns = counts.shape(1);
            require(!squares || has_shape(*squares, rows, columns),
                    "counts and squares differ in shape");
            require(!copies || copies->size() == rows, "copies have a wrong length");
            require(has_shape(to, by_column ? columns : 1, histogram_nodes),
                    "the histogram has a wrong shape");
            run(threads, [&](const Execution& execution) {
                return count_histogram<T>(table_of<T>(counts), data_or_null(squares),
                                          data_or_null(copies), by_column, to.data(), execution);
            });
        },
        "counts"_a.noconvert(), "squares"_a.none(), "copies"_a.none(), "by_column"_a,
        "to"_a.noconvert(), "threads"_a);
}

template <class T> void bind_concentration_slopes(nb::module_& m) {
    m.def(
        "concentration_slopes",
        [](In2<T> counts, std::optional<In2<T>> squares, In2<double> prior, int occurs,
           Out2<double> gains, Out<double> losses, int threads) {
            const size_t rows = counts.shape(0), columns = counts.shape(1);
            require((!squares || has_shape(*squares, rows, columns)) &&
                        has_shape(gains, rows, columns) && losses.size() == rows,
                    "counts, squares, gains and losses differ in shape");
            require((prior.shape(0) == 1 || prior.shape(0) == rows) && prior.shape(1) == columns,
                    "prior has a wrong shape");
            require(occurs >= 0 && occurs <= 2, "occurs is not between 0 and 2");
            const Slopes<T> slopes{.columns = int64_t(columns),
                                   .counts = counts.data(),
                                   .squares = data_or_null(squares),
                                   .prior = prior.data(),
                                   .prior_row = prior.shape(0) == 1 ? 0 : int64_t(columns),
                                   .occurs = Occurs(occurs),
                                   .gains = gains.data(),
                                   .losses = losses.data()};
            run(threads, [&](const Execution& execution) {
                return concentration_slopes<T>(slopes, int64_t(rows), execution);
            });
        },
        "counts"_a.noconvert(), "squares"_a.none(), "prior"_a.noconvert(), "occurs"_a,
        "gains"_a.noconvert(), "losses"_a.noconvert(), "threads"_a);
}

void concentration_rises_of(In2<double> histogram, In<double> concentration, int occurs,
                            Out<double> to, int threads) {
    const size_t groups = histogram.shape(0);
    require(histogram.shape(1) == histogram_nodes && concentration.size() == groups &&
                to.size() == groups,
            "histogram, concentration and result differ in groups");
    require(occurs >= 0 && occurs <= 2, "occurs is not between 0 and 2");
    run(threads, [&](const Execution& execution) {
        return concentration_rises(histogram.data(), int64_t(groups), concentration.data(),
                                   Occurs(occurs), to.data(), execution);
    });
}

void sample_sweeps_of(In<int64_t> row_starts, In<int32_t> features, In<int32_t> repeats,
                      In<float> sizes, In<float> copies, In<double> alpha, double eta,
                      int64_t sweeps, int64_t averaged, uint64_t seed, Out<int32_t> assignments,
                      Out2<float> weight_counts, Out2<float> topic_counts, int threads) {
    const size_t n_samples = weight_counts.shape(0), n_features = topic_counts.shape(0),
                 components = alpha.size(), n_entries = features.size();
    require(components > 0 && components <= size_t(std::numeric_limits<int32_t>::max()),
            "alpha is not of at least one component");
    require(has_shape(weight_counts, n_samples, components) &&
                has_shape(topic_counts, n_features, components),
            "weight_counts or topic_counts has a wrong shape");
    require(row_starts.size() == n_samples + 1 && ascends(row_starts, n_entries) &&
                copies.size() == n_samples && repeats.size() == n_entries &&
                sizes.size() == n_entries,
            "row_starts, copies, features, repeats and sizes do not fit");
    require(are_features(features, int64_t(n_features)),
            "a feature is not between 0 and n_features");
    size_t n_tokens = 0;
    for (size_t e = 0; e < n_entries; ++e) {
        require(repeats.data()[e] >= 0, "repeats are negative");
        n_tokens += size_t(repeats.data()[e]);
    }
    require(assignments.size() == n_tokens, "assignments are not one for each token");
    require(std::all_of(assignments.data(), assignments.data() + n_tokens,
                        [&](int32_t k) { return k >= 0 && size_t(k) < components; }),
            "an assignment is not one of the components");
    run(threads, [&](const Execution& execution) {
        return sample_sweeps({.n_samples = int64_t(n_samples),
                              .n_features = int64_t(n_features),
                              .row_starts = row_starts.data(),
                              .features = features.data(),
                              .repeats = repeats.data(),
                              .sizes = sizes.data(),
                              .copies = copies.data()},
                             {.components = int64_t(components),
                              .alpha = alpha.data(),
                              .eta = eta,
                              .seed = seed,
                              .sweeps = sweeps,
                              .averaged = averaged},
                             {.assignments = assignments.data(),
                              .weights = weight_counts.data(),
                              .topics = topic_counts.data()},
                             execution);
    });
}

}  // namespace
}  // namespace isotopic

NB_MODULE(_native, m) {
    using namespace isotopic;
    m.doc() = "The hot loops of isotopic on plain arrays.";
#ifdef NDEBUG
    // Python need not release every object when it ends: a worker of pytest may still hold a
    // traceback, and with it a Workspace. Users cannot act on that; debug builds report it.
    nb::set_leak_warnings(false);
#endif
    nb::class_<Workspace>(m, "Workspace").def(nb::init<>());
    nb::class_<ColumnIndex>(m, "ColumnIndex").def("arrays", &arrays_of);
    bind_transpose<float>(m);
    bind_transpose<double>(m);
    bind_expected_counts<float>(m);
    bind_expected_counts<double>(m);
    bind_row_pass<float>(m);
    bind_row_pass<double>(m);
    bind_descend<float>(m);
    bind_descend<double>(m);
    bind_infer<float>(m);
    bind_infer<double>(m);
    bind_elementwise<float>(m);
    bind_elementwise<double>(m);
    bind_select_topics(m);
    bind_fit_rates(m);
    bind_stack(m);
    bind_histogram<float>(m);
    bind_histogram<double>(m);
    bind_concentration_slopes<float>(m);
    bind_concentration_slopes<double>(m);
    m.attr("HISTOGRAM_SIZE") = int64_t(histogram_nodes);
    m.def("concentration_rises", &concentration_rises_of, "histogram"_a.noconvert(),
          "concentration"_a.noconvert(), "occurs"_a, "to"_a.noconvert(), "threads"_a);
    m.def("sample_sweeps", &sample_sweeps_of, "row_starts"_a.noconvert(), "features"_a.noconvert(),
          "repeats"_a.noconvert(), "sizes"_a.noconvert(), "copies"_a.noconvert(),
          "alpha"_a.noconvert(), "eta"_a, "sweeps"_a, "averaged"_a, "seed"_a,
          "assignments"_a.noconvert(), "weight_counts"_a.noconvert(), "topic_counts"_a.noconvert(),
          "threads"_a);
    m.def("release_memory", &release_memory);
    m.def("column_index", &column_index_of, "n_features"_a, "block_rows"_a.noconvert(),
          "row_starts"_a.noconvert(), "features"_a.noconvert(), "threads"_a);
    m.def(
        "gamma_functions",
        [](In<double> x, Out<double> digamma, Out<double> log_gamma) {
            require(digamma.size() == x.size() && log_gamma.size() == x.size(),
                    "x, digamma and log_gamma differ in length");
            current_level().gamma_functions(x.data(), digamma.data(), log_gamma.data(),
                                            int64_t(x.size()));
        },
        "x"_a.noconvert(), "digamma"_a.noconvert(), "log_gamma"_a.noconvert());
    m.def("level", [] { return std::string(current_level().name); });
    m.def("levels", [] {
        std::vector<std::string> names;
        for (const Level* level : available_levels()) names.push_back(level->name);
        return names;
    });
}
