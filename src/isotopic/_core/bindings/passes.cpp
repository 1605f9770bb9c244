// Passes over the data.
#include "arrays.hpp"
#include "padded.hpp"

namespace isotopic {
namespace {

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

}  // namespace

void bind_passes(nb::module_& m) {
    nb::class_<Workspace>(m, "Workspace").def(nb::init<>());
    bind_expected_counts<float>(m);
    bind_expected_counts<double>(m);
    bind_row_pass<float>(m);
    bind_row_pass<double>(m);
    bind_stack(m);
}

}  // namespace isotopic
