// Statistics of counts, and Gibbs sampling.
#include "arrays.hpp"
#include "padded.hpp"

namespace isotopic {
namespace {

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

// Returns where the tokens of each sample begin.
std::vector<int64_t> token_starts_of(const In<int64_t>& row_starts, const In<int32_t>& repeats) {
    std::vector<int64_t> starts{0};
    for (size_t d = 0; d + 1 < row_starts.size(); ++d) {
        int64_t n = starts.back();
        for (int64_t e = row_starts.data()[d]; e < row_starts.data()[d + 1]; ++e) {
            require(repeats.data()[e] >= 0, "repeats are negative");
            n += repeats.data()[e];
        }
        starts.push_back(n);
    }
    return starts;
}

void draw_topics_of(In<int64_t> row_starts, In<int32_t> features, In<int32_t> repeats,
                    In2<float> weights, In2<float> topics, uint64_t seed, Out<int32_t> assignments,
                    int threads) {
    const size_t n_samples = weights.shape(0), components = weights.shape(1);
    require(components > 0, "weights have no components");
    require_padded<float>(topics, components);
    require(row_starts.size() == n_samples + 1 && ascends(row_starts, features.size()) &&
                repeats.size() == features.size(),
            "row_starts, features and repeats do not fit");
    require(are_features(features, int64_t(topics.shape(0))),
            "a feature is not among those of the topics");
    const std::vector<int64_t> token_starts = token_starts_of(row_starts, repeats);
    require(assignments.size() == size_t(token_starts.back()),
            "assignments are not one for each token");
    const TopicDraws draws{.row_starts = row_starts.data(),
                           .features = features.data(),
                           .repeats = repeats.data(),
                           .token_starts = token_starts.data(),
                           .components = int64_t(components),
                           .padded = int64_t(topics.shape(1)),
                           .weights = weights.data(),
                           .topics = topics.data(),
                           .seed = seed,
                           .assignments = assignments.data()};
    run(threads, [&](const Execution& execution) {
        return draw_topics(draws, int64_t(n_samples), execution);
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
    require(assignments.size() == size_t(token_starts_of(row_starts, repeats).back()),
            "assignments are not one for each token");
    require(std::all_of(assignments.data(), assignments.data() + assignments.size(),
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

void bind_statistics(nb::module_& m) {
    bind_histogram<float>(m);
    bind_histogram<double>(m);
    bind_concentration_slopes<float>(m);
    bind_concentration_slopes<double>(m);
    m.attr("HISTOGRAM_SIZE") = int64_t(histogram_nodes);
    m.def("concentration_rises", &concentration_rises_of, "histogram"_a.noconvert(),
          "concentration"_a.noconvert(), "occurs"_a, "to"_a.noconvert(), "threads"_a);
    m.def("draw_topics", &draw_topics_of, "row_starts"_a.noconvert(), "features"_a.noconvert(),
          "repeats"_a.noconvert(), "weights"_a.noconvert(), "topics"_a.noconvert(), "seed"_a,
          "assignments"_a.noconvert(), "threads"_a);
    m.def("sample_sweeps", &sample_sweeps_of, "row_starts"_a.noconvert(), "features"_a.noconvert(),
          "repeats"_a.noconvert(), "sizes"_a.noconvert(), "copies"_a.noconvert(),
          "alpha"_a.noconvert(), "eta"_a, "sweeps"_a, "averaged"_a, "seed"_a,
          "assignments"_a.noconvert(), "weight_counts"_a.noconvert(), "topic_counts"_a.noconvert(),
          "threads"_a);
}

}  // namespace isotopic
