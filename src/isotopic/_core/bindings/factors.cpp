// Functions of the entries and rows of a factor.
#include "arrays.hpp"

namespace isotopic {
namespace {

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

}  // namespace

void bind_factors(nb::module_& m) {
    bind_elementwise<float>(m);
    bind_elementwise<double>(m);
    m.def(
        "gamma_functions",
        [](In<double> x, Out<double> digamma, Out<double> log_gamma) {
            require(digamma.size() == x.size() && log_gamma.size() == x.size(),
                    "x, digamma and log_gamma differ in length");
            current_level().gamma_functions(x.data(), digamma.data(), log_gamma.data(),
                                            int64_t(x.size()));
        },
        "x"_a.noconvert(), "digamma"_a.noconvert(), "log_gamma"_a.noconvert());
}

}  // namespace isotopic
