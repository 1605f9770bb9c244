"""The published updates for the beta divergence, written down as they stand in the articles.

In their letters: ``V`` (features x samples) is approximated by ``W H``.
"""

import numpy as np


def gamma(beta):
    """Févotte & Idier (2011), equation (57)."""
    if beta < 1:
        return 1 / (2 - beta)
    if beta <= 2:
        return 1
    return 1 / (beta - 1)


def sequential_mm(V, W, H, beta):
    """Févotte & Idier (2011), Algorithm 2 (MM): first W, then H."""
    approximation = W @ H
    W = W * (
        ((V * approximation ** (beta - 2)) @ H.T) / (approximation ** (beta - 1) @ H.T)
    ) ** gamma(beta)
    approximation = W @ H
    H = H * (
        (W.T @ (V * approximation ** (beta - 2))) / (W.T @ approximation ** (beta - 1))
    ) ** gamma(beta)
    return W, H


def joint_mm(V, W, H, beta):
    """Marmin, Goulart & Févotte (2023), Algorithm 2 with one sub-iteration: first H, then W.

    The powers of the approximation are taken once, at the factors with a tilde.
    """
    W_tilde, H_tilde = W, H
    approximation = W_tilde @ H_tilde
    P, Q = V * approximation ** (beta - 2), approximation ** (beta - 1)
    H = H_tilde * ((W_tilde.T @ P) / (W_tilde.T @ Q)) ** gamma(beta)
    if beta < 1:
        top, bottom = H_tilde ** (2 - beta) * H ** (beta - 1), H
    elif beta <= 2:
        top, bottom = H_tilde ** (2 - beta) * H ** (beta - 1), H_tilde ** (1 - beta) * H**beta
    else:
        top, bottom = H, H_tilde ** (1 - beta) * H**beta
    W = W_tilde * ((P @ top.T) / (Q @ bottom.T)) ** gamma(beta)
    return W, H


def divergence(x, y, beta):
    """Févotte & Idier (2011), equation (1)."""
    if beta == 0:
        return float(np.sum(x / y - np.log(x / y) - 1))
    if beta == 1:
        return float(np.sum(x * np.log(x / y) - x + y))
    return float(
        np.sum((x**beta + (beta - 1) * y**beta - beta * x * y ** (beta - 1)) / (beta * (beta - 1)))
    )
