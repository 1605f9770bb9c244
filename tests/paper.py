"""The paper, transcribed: slow, literal, and independent of the library it judges.

The source is Geiger & Park, "On the connection between non-negative matrix factorization and
latent Dirichlet allocation". Inside every function the letters and the orientation are the paper's:

    X    V x D       terms x documents
    W    V x K       topics in columns
    H    K x D       topic weights in columns
    phi  V x K x D   the share of topic k in the count x_vd
    beta, b  K x D   variational parameters of H

Arguments and results have the library's orientation: ``X`` is samples x features, ``weights`` (and
``beta``, ``b``) samples x components, ``topics`` components x features. An algorithm returns the
list of its iterates 1, ..., n_iter as pairs (weights, topics); the start is not in it.
Hyperparameters of the weights are a number or one number for each component.

Two conventions: 0 log 0 = 0, and 0 / 0 = 0 (a count of zero has nothing to share out). Where the
paper's formulas are undefined (a positive count under a zero rate, normalising a zero vector) an
algorithm raises ValueError rather than choose something.
"""

import numpy as np
from scipy.special import (
    digamma,
    gammaln,
    logsumexp,
    rel_entr,
    roots_genlaguerre,
    roots_jacobi,
    xlogy,
)

# --------------------------------------------------------------------------------------------------
# Small pieces
# --------------------------------------------------------------------------------------------------


def _transpose(*arrays):
    """From the library's orientation to the paper's, or back; always fresh float arrays."""
    return tuple(np.array(array, dtype=float).T.copy() for array in arrays)


def _per_topic(value, K):
    """A number, or one for each topic, as a K x 1 column: it meets K x D arrays as value_k."""
    return np.broadcast_to(np.asarray(value, dtype=float), (K,))[:, None]


def _like(value, array):
    """``value`` broadcast to the shape of ``array`` (library's orientation), then transposed."""
    return np.broadcast_to(np.asarray(value, dtype=float), np.shape(array)).T


def _ratio(numerator, denominator):
    """Divide, with 0 / 0 = 0."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    if np.any((numerator > 0) & (denominator == 0)):
        raise ValueError("a positive number over zero: the update is undefined here")
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=numerator > 0)


def _columns_to_simplex(M):
    """The paper's proportional sign, for matrices: every column is made to sum to 1."""
    sums = M.sum(axis=0, keepdims=True)
    if np.any(sums == 0):
        raise ValueError("a zero vector cannot be normalised: the update is undefined here")
    return M / sums


def _log(M):
    """Logarithm with log 0 = -inf, silently."""
    with np.errstate(divide="ignore"):
        return np.log(M)


def _optimal_phi(log_W, log_H):
    """phi_vkd proportional over k to w_vk h_kd, from logarithms.

    Where w_vk h_kd is zero for every k, no phi does better than another; it is uniform there.
    """
    log_joint = log_W[:, :, None] + log_H[None, :, :]
    log_sum = logsumexp(log_joint, axis=1, keepdims=True)
    possible = np.isfinite(log_sum)
    K = log_joint.shape[1]
    return np.where(possible, np.exp(log_joint - np.where(possible, log_sum, 0.0)), 1.0 / K)


def _expected_log_joint(X, phi, log_W, log_H):
    """sum_vkd x_vd phi_vkd log(w_vk h_kd / phi_vkd), the first sum of every lower bound."""
    x_phi = X[:, None, :] * phi
    log_joint = log_W[:, :, None] + log_H[None, :, :]
    on = x_phi > 0
    return np.sum(x_phi[on] * (log_joint[on] - np.log(phi[on])))


def _expected_log_dirichlet(parameters):
    """E[log h_kd] = psi(beta_kd) - psi(sum_k' beta_k'd) for columns h_d ~ Dir(beta_d)."""
    return digamma(parameters) - digamma(parameters.sum(axis=0, keepdims=True))


def _dirichlet_terms(prior, posterior):
    """E[log p(h)] - E[log q(h)] for columns: p = Dir(prior), q = Dir(posterior), same shape."""
    expected_log = _expected_log_dirichlet(posterior)
    return np.sum(gammaln(prior.sum(axis=0)) - gammaln(posterior.sum(axis=0))) + np.sum(
        gammaln(posterior) - gammaln(prior) + (prior - posterior) * expected_log
    )


def _gamma_terms(prior_shape, prior_rate, shape, rate):
    """E[log p(h)] - E[log q(h)] for entries: p = Gamma(prior_shape, prior_rate), q = Gamma(...)."""
    expected_log = digamma(shape) - np.log(rate)
    expected = shape / rate
    return np.sum(
        prior_shape * np.log(prior_rate)
        - shape * np.log(rate)
        + gammaln(shape)
        - gammaln(prior_shape)
        + (prior_shape - shape) * expected_log
        + (rate - prior_rate) * expected
    )


# --------------------------------------------------------------------------------------------------
# Algorithms of point estimates
# --------------------------------------------------------------------------------------------------


def multiplicative_updates(X, weights, topics, *, n_iter):
    """Algorithm 1: multiplicative updates of NMF (Lee & Seung), W first, then H with the new W."""
    X, H, W = _transpose(X, weights, topics)
    iterates = []
    for _ in range(n_iter):
        W = _ratio(
            W * np.einsum("vd,kd->vk", _ratio(X, W @ H), H),
            np.einsum("kd->k", H)[None, :],
        )
        H = _ratio(
            H * np.einsum("vd,vk->kd", _ratio(X, W @ H), W),
            np.einsum("vk->k", W)[:, None],
        )
        iterates.append(_transpose(H, W))
    return iterates


def plsa_em(X, weights, topics, *, n_iter):
    """Algorithm 2: the EM algorithm of PLSA (Hofmann), with the tensor phi."""
    X, H, W = _transpose(X, weights, topics)
    iterates = []
    for _ in range(n_iter):
        phi = W[:, :, None] * H[None, :, :]
        phi = _ratio(phi, phi.sum(axis=1, keepdims=True))
        if np.any((X > 0) & (phi.sum(axis=1) == 0)):
            raise ValueError("a positive count under a zero rate: the update is undefined here")
        W = _columns_to_simplex(np.einsum("vd,vkd->vk", X, phi))
        H = _columns_to_simplex(np.einsum("vd,vkd->kd", X, phi))
        iterates.append(_transpose(H, W))
    return iterates


def joint_nmf(X, weights, topics, *, n_iter):
    """Algorithm 4: joint multiplicative updates of NMF with normalised topics."""
    X, H, W = _transpose(X, weights, topics)
    iterates = []
    for _ in range(n_iter):
        R = _ratio(X, W @ H)
        W_new = _columns_to_simplex(W * np.einsum("vd,kd->vk", R, H))
        H_new = H * np.einsum("vd,vk->kd", R, W)
        W, H = W_new, H_new
        iterates.append(_transpose(H, W))
    return iterates


def joint_nmf_both(X, weights, topics, *, n_iter):
    """Algorithm 6 (appendix B): joint multiplicative updates, topics and weights normalised."""
    X, H, W = _transpose(X, weights, topics)
    iterates = []
    for _ in range(n_iter):
        R = _ratio(X, W @ H)
        W_new = _columns_to_simplex(W * np.einsum("vd,kd->vk", R, H))
        H_new = _columns_to_simplex(H * np.einsum("vd,vk->kd", R, W))
        W, H = W_new, H_new
        iterates.append(_transpose(H, W))
    return iterates


def lasso_joint(X, weights, topics, strength, *, n_iter):
    """Section 6 and appendix F: joint updates of NMF with normalised topics and a Lasso on H."""
    X, H, W = _transpose(X, weights, topics)
    iterates = []
    for _ in range(n_iter):
        R = _ratio(X, W @ H)
        W_new = _columns_to_simplex(W * np.einsum("vd,kd->vk", R, H))
        H_new = 1 / (1 + strength) * H * np.einsum("vd,vk->kd", R, W)
        W, H = W_new, H_new
        iterates.append(_transpose(H, W))
    return iterates


# --------------------------------------------------------------------------------------------------
# Algorithms of variational inference. A Bayesian side starts from, and is returned as, the
# parameters of its posterior: `weights` is beta transposed.
# --------------------------------------------------------------------------------------------------


def lda_vi(X, weights, topics, alpha, *, n_iter):
    """Algorithm 3: the variational inference of LDA (Blei et al.), with the tensor phi."""
    X, beta, W = _transpose(X, weights, topics)
    alpha = _per_topic(alpha, K=len(beta))
    iterates = []
    for _ in range(n_iter):
        if np.any((X.sum(axis=1) > 0) & (W.sum(axis=1) == 0)):
            raise ValueError("a positive count under a zero rate: the update is undefined here")
        log_h_tilde = _expected_log_dirichlet(beta)
        phi = _optimal_phi(_log(W), log_h_tilde)
        W = _columns_to_simplex(np.einsum("vd,vkd->vk", X, phi))
        beta = alpha + np.einsum("vd,vkd->kd", X, phi)
        iterates.append(_transpose(beta, W))
    return iterates


def dirichlet_poisson_vi(X, weights, topics, alpha, *, n_iter):
    """Algorithm 5: variational inference of Dirichlet--Poisson NMF / LDA, multiplicative form."""
    X, beta, W = _transpose(X, weights, topics)
    alpha = _per_topic(alpha, K=len(beta))
    iterates = []
    for _ in range(n_iter):
        H_tilde = np.exp(_expected_log_dirichlet(beta))
        R = _ratio(X, W @ H_tilde)
        W_new = _columns_to_simplex(W * np.einsum("vd,kd->vk", R, H_tilde))
        beta_new = alpha + H_tilde * np.einsum("vd,vk->kd", R, W)
        W, beta = W_new, beta_new
        iterates.append(_transpose(beta, W))
    return iterates


def gamma_poisson_vi(X, weights, topics, alpha, a, *, n_iter):
    """Algorithm 7 (appendix E): variational inference of Gamma--Poisson NMF; b_kd = 1 + a_k."""
    X, beta, W = _transpose(X, weights, topics)
    alpha = _per_topic(alpha, K=len(beta))
    a = _per_topic(a, K=len(beta))
    iterates = []
    for _ in range(n_iter):
        H_tilde = np.exp(digamma(beta)) / (1 + a)
        R = _ratio(X, W @ H_tilde)
        W_new = _columns_to_simplex(W * np.einsum("vd,kd->vk", R, H_tilde))
        beta_new = alpha + H_tilde * np.einsum("vd,vk->kd", R, W)
        W, beta = W_new, beta_new
        iterates.append(_transpose(beta, W))
    return iterates


def smoothed_lda_vi(X, weights, topics, alpha, eta, *, n_iter):
    """LDA with topics w_k ~ Dir(eta) too; q(w_k) = Dir(lambda_k), and `topics` is lambda.

    Blei et al. 2003, section 5.4. Both sides are updated from one phi. ``eta`` is a number, or
    anything that broadcasts to components x features.
    """
    eta = _like(eta, topics)
    X, beta, lambda_ = _transpose(X, weights, topics)
    alpha = _per_topic(alpha, K=len(beta))
    iterates = []
    for _ in range(n_iter):
        log_w_tilde = _expected_log_dirichlet(lambda_)
        log_h_tilde = _expected_log_dirichlet(beta)
        phi = _optimal_phi(log_w_tilde, log_h_tilde)
        lambda_ = eta + np.einsum("vd,vkd->vk", X, phi)
        beta = alpha + np.einsum("vd,vkd->kd", X, phi)
        iterates.append(_transpose(beta, lambda_))
    return iterates


def bayesian_poisson_vi(
    X, weights, topics, weights_rate, topics_rate, *, shape, rate, shape_t, rate_t, n_iter
):
    """Poisson factorisation with Gamma priors on both sides (the model of Cemgil 2009).

    h_kd ~ Gamma(shape, rate), w_vk ~ Gamma(shape_t, rate_t), x_vd ~ Poisson((WH)_vd). Both
    posteriors are Gamma: `weights` and `topics` are their shapes, `weights_rate` and `topics_rate`
    their rates. As in Algorithm 1 the topics are updated first, then phi is computed again, then
    the weights are updated. The priors' parameters broadcast to the arrays of their side.

    An iterate is (weights, topics, weights_rate, topics_rate).
    """
    shape, rate = _like(shape, weights), _like(rate, weights)
    shape_t, rate_t = _like(shape_t, topics), _like(rate_t, topics)
    b, r = _like(weights_rate, weights), _like(topics_rate, topics)
    X, beta, lambda_ = _transpose(X, weights, topics)
    iterates = []
    for _ in range(n_iter):
        phi = _optimal_phi(digamma(lambda_) - np.log(r), digamma(beta) - np.log(b))
        lambda_ = shape_t + np.einsum("vd,vkd->vk", X, phi)
        r = rate_t + np.einsum("kd->k", beta / b)[None, :]
        phi = _optimal_phi(digamma(lambda_) - np.log(r), digamma(beta) - np.log(b))
        beta = shape + np.einsum("vd,vkd->kd", X, phi)
        b = rate + np.einsum("vk->k", lambda_ / r)[:, None]
        iterates.append(_transpose(beta, lambda_, b, r))
    return iterates


# --------------------------------------------------------------------------------------------------
# Objectives
# --------------------------------------------------------------------------------------------------


def generalized_kl(X, weights, topics):
    """The generalised Kullback--Leibler divergence D_KL(X || WH), minimised."""
    X, H, W = _transpose(X, weights, topics)
    return np.sum(rel_entr(X, W @ H) - X + W @ H)


def lasso_kl(X, weights, topics, strength):
    """D_KL(X || WH) + strength * ||H||_1, minimised (section 6)."""
    return generalized_kl(X, weights, topics) + strength * np.sum(np.abs(weights))


def plsa_log_likelihood(X, weights, topics):
    """sum_vd x_vd log (WH)_vd, without the constant of bagging the words; maximised."""
    X, H, W = _transpose(X, weights, topics)
    return np.sum(xlogy(X, W @ H))


def lda_bound(X, topics, alpha, beta):
    """The lower bound of LDA, with the optimal phi; without the multinomial coefficients."""
    X, W, beta = _transpose(X, topics, beta)
    alpha = _per_topic(alpha, K=len(beta))
    expected_log_h = digamma(beta) - digamma(beta.sum(axis=0))
    phi = _optimal_phi(_log(W), expected_log_h)
    D = X.shape[1]
    return (
        _expected_log_joint(X, phi, _log(W), expected_log_h)
        + D * gammaln(alpha.sum())
        - np.sum(gammaln(beta.sum(axis=0)))
        + np.sum(gammaln(beta) - gammaln(alpha) + (alpha - beta) * expected_log_h)
    )


def gamma_poisson_bound(X, topics, alpha, a, beta, b):
    """The lower bound of the Gamma--Poisson model (appendix E), with the optimal phi.

    The topics are normalised. Without the constant - sum_vd log x_vd!. ``b`` broadcasts to the
    shape of ``beta``, samples x components; the algorithm's is 1 + a.
    """
    b = _like(b, beta)
    X, W, beta = _transpose(X, topics, beta)
    alpha = _per_topic(alpha, K=len(beta))
    a = _per_topic(a, K=len(beta))
    expected_log_h = digamma(beta) - np.log(b)
    expected_h = beta / b
    phi = _optimal_phi(_log(W), expected_log_h)
    return (
        _expected_log_joint(X, phi, _log(W), expected_log_h)
        - np.sum(expected_h)
        + np.sum(alpha * np.log(a) - beta * np.log(b))
        + np.sum(
            gammaln(beta) - gammaln(alpha) + (alpha - beta) * expected_log_h + (b - a) * expected_h
        )
    )


def smoothed_lda_bound(X, topics, alpha, eta, beta):
    """The lower bound of LDA with w_k ~ Dir(eta), q(w_k) = Dir(topics_k), with the optimal phi.

    ``eta`` broadcasts to components x features. Without the multinomial coefficients.
    """
    eta = _like(eta, topics)
    alpha = _like(alpha, beta)
    X, lambda_, beta = _transpose(X, topics, beta)
    log_w_tilde = _expected_log_dirichlet(lambda_)
    log_h_tilde = _expected_log_dirichlet(beta)
    phi = _optimal_phi(log_w_tilde, log_h_tilde)
    return (
        _expected_log_joint(X, phi, log_w_tilde, log_h_tilde)
        + _dirichlet_terms(alpha, beta)
        + _dirichlet_terms(eta, lambda_)
    )


def bayesian_poisson_bound(
    X, weights, topics, weights_rate, topics_rate, *, shape, rate, shape_t, rate_t
):
    """The lower bound of the model of `bayesian_poisson_vi`, same arguments, with the optimal phi.

    Without the constant - sum_vd log x_vd!.
    """
    shape, rate = _like(shape, weights), _like(rate, weights)
    shape_t, rate_t = _like(shape_t, topics), _like(rate_t, topics)
    b, r = _like(weights_rate, weights), _like(topics_rate, topics)
    X, beta, lambda_ = _transpose(X, weights, topics)
    log_w_tilde = digamma(lambda_) - np.log(r)
    log_h_tilde = digamma(beta) - np.log(b)
    phi = _optimal_phi(log_w_tilde, log_h_tilde)
    return (
        _expected_log_joint(X, phi, log_w_tilde, log_h_tilde)
        - np.sum((lambda_ / r) @ (beta / b))
        + _gamma_terms(shape, rate, beta, b)
        + _gamma_terms(shape_t, rate_t, lambda_, r)
    )


# --------------------------------------------------------------------------------------------------
# Exact log-likelihoods of one document (one row x of X), for few components and few words. The
# integrands are polynomials of degree sum(x) times the quadrature's own weight function, so a Gauss
# rule of sum(x) // 2 + 1 nodes a dimension has no error but rounding.
# --------------------------------------------------------------------------------------------------


def _gauss_nodes_needed(x):
    if np.any(x != np.round(x)):
        raise ValueError("the quadrature is exact for whole counts only")
    return int(x.sum()) // 2 + 1


def lda_log_likelihood_exact(x, topics, alpha):
    """log of the integral of Dir(alpha)(h) prod_v (Wh)_v^x_v; no multinomial coefficient.

    Stick breaking makes Dir(alpha) a chain of Beta distributions, h_1 = u_1,
    h_2 = (1 - u_1) u_2, ..., with u_k ~ Beta(alpha_k, alpha_{k+1} + ... + alpha_K): nested
    Gauss--Jacobi quadrature, meant for K = 2 and 3.
    """
    x, W = _transpose(x, topics)
    K = W.shape[1]
    alpha = _per_topic(alpha, K)[:, 0]
    n_nodes = _gauss_nodes_needed(x)

    def log_integral(h, rest):
        k = len(h)
        if k == K - 1:
            return np.sum(xlogy(x, W @ np.array([*h, rest])))
        # Beta(p, q) on (0, 1) is the weight (1 + t)^(p - 1) (1 - t)^(q - 1) at u = (1 + t) / 2.
        p, q = alpha[k], alpha[k + 1 :].sum()
        with np.errstate(invalid="ignore"):  # SciPy warns of a 0 / 0 it discards when p + q = 1
            t, mass = roots_jacobi(n_nodes, q - 1, p - 1)
        u = (1 + t) / 2
        inner = [log_integral([*h, rest * u_i], rest * (1 - u_i)) for u_i in u]
        return logsumexp(inner, b=mass / mass.sum())

    return float(log_integral([], 1.0))


def gamma_poisson_log_likelihood_exact(x, topics, shape, rate):
    """log of the integral of prod_k Gamma(shape_k, rate_k)(h_k) prod_v Poisson(x_v; (Wh)_v).

    Without the constant - sum_v log x_v!. The factor exp(-sum_v (Wh)_v) joins the prior,

        Gamma(shape_k, rate_k)(h_k) exp(-s_k h_k)
            = (rate_k / (rate_k + s_k))^shape_k Gamma(shape_k, rate_k + s_k)(h_k)

    with s_k = sum_v w_vk (1 for normalised topics), which leaves the mean of a polynomial: nested
    generalised Gauss--Laguerre quadrature in t_k = (rate_k + s_k) h_k, meant for K = 2.
    """
    x, W = _transpose(x, topics)
    K = W.shape[1]
    shape = _per_topic(shape, K)[:, 0]
    rate = _per_topic(rate, K)[:, 0]
    posterior_rate = rate + W.sum(axis=0)
    n_nodes = _gauss_nodes_needed(x)

    def log_integral(h):
        k = len(h)
        if k == K:
            return np.sum(xlogy(x, W @ np.array(h)))
        t, mass = roots_genlaguerre(n_nodes, shape[k] - 1)
        inner = [log_integral([*h, t_i / posterior_rate[k]]) for t_i in t]
        return logsumexp(inner, b=mass / mass.sum())

    return float(np.sum(shape * np.log(rate / posterior_rate)) + log_integral([]))
