// Loops that solve the problem of each sample, or of each feature, alone.
#include "arrays.hpp"
#include "padded.hpp"

namespace isotopic {
namespace {

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

template <class T> void bind_descend_features(nb::module_& m) {
    m.def(
        "descend_features",
        [](In<int64_t> row_starts, In<int32_t> features, In<T> values, In<int64_t> block_rows,
           const ColumnIndex& by_feature, std::optional<In<uint16_t>> whole,
           std::optional<In<T>> other, In2<T> others, In<double> slopes, int sweeps, In2<T> from,
           Out2<T> to, int threads) {
            const size_t rows = from.shape(0), components = from.shape(1);
            require(
                whole ? whole->size() == values.size() : other && other->size() == values.size(),
                "the ordered values do not fit");
            const Matrix<T> x =
                matrix_of<T>(rows, row_starts, features, values, block_rows, &by_feature);
            require_padded<T>(others, components);
            require(int64_t(others.shape(0)) == x.n_samples, "others and row_starts do not fit");
            require(slopes.size() == components, "from and slopes differ in components");
            require(has_shape(to, rows, components), "from and to differ in shape");
            require(sweeps >= 0, "sweeps is negative");
            const Descent<T> descent{
                .components = int64_t(components),
                .padded = int64_t(others.shape(1)),
                .n_features = x.n_samples,
                .sweeps = sweeps,
                .others = others.data(),
                .slopes = slopes.data(),
                .from = from.data(),
                .to = to.data(),
            };
            run(threads, [&](const Execution& execution) {
                return descend_features<T>(x, {data_or_null(whole), data_or_null(other)}, descent,
                                           execution);
            });
        },
        "row_starts"_a.noconvert(), "features"_a.noconvert(), "values"_a.noconvert(),
        "block_rows"_a.noconvert(), "by_feature"_a, "whole"_a.none(), "other"_a.none(),
        "others"_a.noconvert(), "slopes"_a.noconvert(), "sweeps"_a, "from_"_a.noconvert(),
        "to"_a.noconvert(), "threads"_a);
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

}  // namespace

void bind_samples(nb::module_& m) {
    bind_descend<float>(m);
    bind_descend<double>(m);
    bind_descend_features<float>(m);
    bind_descend_features<double>(m);
    bind_infer<float>(m);
    bind_infer<double>(m);
    bind_select_topics(m);
    bind_fit_rates(m);
}

}  // namespace isotopic
