"""The kernel mixture on few rows, with exact Gram matrices, written literally.

An oracle for tests: it follows Song, Anandkumar, Dai and Xie (2014), with the corrections that
their listings need, in float64 and without regard to cost. It shares no code with the package.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.linalg import eigh, inv, norm, pinv, svd


@dataclass(frozen=True)
class Exact:
    """Weights (k,) and one matrix of component means (r_t, k) a view."""

    weights: np.ndarray
    means: list[np.ndarray]


@dataclass(frozen=True)
class Population:
    """True parameters and the exact moments of the augmented features ``[1, y_t]``."""

    weights: np.ndarray
    means: list[np.ndarray]
    masses: list[np.ndarray]
    triple: np.ndarray
    seconds: list[np.ndarray]


def gaussian_gram(x: np.ndarray, y: np.ndarray, width: float) -> np.ndarray:
    """Mass-one Gaussian kernel between the rows of x (n, d) and y (m, d)."""
    gram = np.empty((len(x), len(y)))
    for i in range(len(x)):
        squared = np.sum((x[i] - y) ** 2, axis=1) / width**2
        gram[i] = np.exp(-squared / 2) / (np.sqrt(2 * np.pi) * width) ** x.shape[1]
    return gram


def exact_coordinates(gram: np.ndarray, cut: float = 1e-10) -> np.ndarray:
    """R with ``z(x) = R' k(X, x)`` orthonormal features: the truncated inverse square root."""
    values, vectors = eigh(gram)
    keep = values > cut * values.max()
    return vectors[:, keep] / np.sqrt(values[keep])


def conditional_density(
    query_gram: np.ndarray, coordinates: np.ndarray, means: np.ndarray
) -> np.ndarray:
    """Densities (m, k) at query points from ``k(query, X)`` (m, n), R (n, r) and M (r, k)."""
    return query_gram @ (coordinates @ means)


def different_views(
    z: list[np.ndarray], n_components: int, target: int = 2, decomposition: str = "jacobi"
) -> Exact:
    """Three different views given by feature matrices z_t (n, r_t)."""
    n = len(z[0])
    moments = {(a, b): z[a].T @ z[b] / n for a in range(3) for b in range(3)}
    triple = np.einsum("na,nb,nc->abc", *z, optimize=True) / n
    return different_views_from_moments(moments, triple, n_components, target, decomposition)


def different_views_from_moments(
    moments: dict, triple: np.ndarray, n_components: int, target: int, decomposition: str
) -> Exact:
    """Cross-covariance subspaces, symmetrisation, whitening, decomposition and regression."""
    bases = []
    for a in range(3):
        stacked = np.concatenate([moments[a, b] for b in range(3) if b != a], axis=1)
        bases.append(svd(stacked)[0][:, :n_components])
    s = {(a, b): bases[a].T @ moments[a, b] @ bases[b] for a in range(3) for b in range(3)}
    small = np.einsum("abc,ai,bj,ck->ijk", triple, *bases, optimize=True)

    # Bring the target to the last place; a and b are the two others.
    a, b = [view for view in range(3) if view != target]
    small = np.transpose(small, (a, b, target))
    to_target_a = s[target, b] @ inv(s[a, b])
    to_target_b = s[target, a] @ inv(s[b, a])
    pair = to_target_a @ s[a, target]
    third = np.einsum("abc,ia,jb->ijc", small, to_target_a, to_target_b, optimize=True)
    mean, weights = decompose_moments((pair + pair.T) / 2, third, n_components, decomposition)

    means: list = [None, None, None]
    means[target] = mean
    for view in (a, b):
        means[view] = s[view, target] @ pinv(mean.T) @ np.diag(1 / weights)
    return Exact(weights, [bases[view] @ means[view] for view in range(3)])


def symmetric_views(z: list[np.ndarray], n_components: int, decomposition: str = "jacobi") -> Exact:
    """Three views of one distribution, given by features z_t (n, r) in common coordinates."""
    n = len(z[0])
    ordered = [(a, b) for a in range(3) for b in range(3) if a != b]
    pair = sum(z[a].T @ z[b] for a, b in ordered) / (6 * n)
    triple = np.einsum("na,nb,nc->abc", *z, optimize=True) / n
    mean, weights = decompose_moments(pair, triple, n_components, decomposition)
    return Exact(weights, [mean])


def decompose_moments(
    pair: np.ndarray, third: np.ndarray, n_components: int, decomposition: str
) -> tuple[np.ndarray, np.ndarray]:
    """Component means (r, k) and weights (k,) from a symmetric pair and a triple moment."""
    values, vectors = eigh(pair)
    largest = np.argsort(values)[::-1][:n_components]
    values = np.maximum(values[largest], 1e-3 * values[largest[0]])
    whitening = vectors[:, largest] @ np.diag(values**-0.5)
    core = np.einsum("abc,ai,bj,ck->ijk", third, whitening, whitening, whitening, optimize=True)
    core = sum(np.transpose(core, order) for order in permutations(range(3))) / 6
    eigenvalues, directions = {"jacobi": one_by_one_jacobi, "power": one_by_one_power}[
        decomposition
    ](core)
    eigenvalues = np.maximum(eigenvalues, 1e-3)
    mean = vectors[:, largest] @ np.diag(values**0.5) @ directions @ np.diag(eigenvalues)
    return mean, eigenvalues**-2


def one_by_one_jacobi(core: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Diagonalise all slices with one plane rotation after the other.

    The best rotation comes from the leading eigenvector of the 2 x 2 scatter of the rows
    (A_pp - A_qq, 2 A_pq) over the slices A.
    """
    k = len(core)
    directions = np.eye(k)
    for _ in range(100):
        largest = 0.0
        for p in range(k):
            for q in range(p + 1, k):
                slices = np.einsum("abc,ai,bj->ijc", core, directions, directions)
                rows = np.stack([slices[p, p] - slices[q, q], 2 * slices[p, q]], axis=1)
                x, y = eigh(rows.T @ rows)[1][:, 1]
                if x < 0:
                    x, y = -x, -y
                cosine = np.sqrt((x + 1) / 2)
                sine = y / (2 * cosine)
                turn = np.eye(k)
                turn[[p, q], [p, q]] = cosine
                turn[p, q], turn[q, p] = -sine, sine
                directions = directions @ turn
                largest = max(largest, abs(sine))
        if largest < 1e-13:
            break
    return _positive(core, directions)


def one_by_one_power(core: np.ndarray, starts: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Tensor power method with deflation, one start after the other."""
    k = len(core)
    rest = core.copy()
    random = np.random.default_rng(12345)
    values, directions = [], []
    for _ in range(k):
        best_value, best = -np.inf, np.zeros(k)
        for _ in range(starts):
            v = random.standard_normal(k)
            v /= norm(v)
            for _ in range(120):
                v = np.einsum("abc,b,c->a", rest, v, v)
                v /= norm(v)
            value = np.einsum("abc,a,b,c->", rest, v, v, v)
            if value > best_value:
                best_value, best = value, v
        rest = rest - best_value * np.einsum("a,b,c->abc", best, best, best)
        values.append(best_value)
        directions.append(best)
    return np.array(values), np.stack(directions, axis=1)


def _positive(core: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues T(v, v, v) with v turned so that they are positive."""
    values = np.einsum("abc,ah,bh,ch->h", core, directions, directions, directions)
    return np.abs(values), directions * np.sign(values)


def population(
    n_components: int,
    n_features: tuple[int, int, int],
    seed: int,
    concentration: float = 5.0,
    within: float = 0.5,
) -> Population:
    """Exact moments of random, well separated component means of mass one in three views."""
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.full(n_components, concentration))
    means, masses, seconds, augmented = [], [], [], []
    for size in n_features:
        square = max(size, n_components)
        orthonormal = np.linalg.qr(random.standard_normal((square, square)))[0]
        mean = orthonormal[:size, :n_components] + 0.1 * random.random((size, n_components))
        # A functional that is one on every column exists since the columns are independent.
        mass = pinv(mean.T) @ random.uniform(0.5, 2.0, n_components)
        mean = mean / (mass @ mean)
        lifted = np.vstack([np.ones(n_components), mean])
        noise = np.zeros((size + 1, size + 1))
        noise[1:, 1:] = within * np.eye(size)
        means.append(mean)
        masses.append(mass)
        augmented.append(lifted)
        seconds.append(lifted @ np.diag(weights) @ lifted.T + noise)
    triple = np.zeros([size + 1 for size in n_features])
    for h in range(n_components):
        triple += weights[h] * np.einsum("a,b,c->abc", *[lifted[:, h] for lifted in augmented])
    return Population(weights, means, masses, triple, seconds)


def align(estimated: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Order of the columns of `estimated` that comes nearest to those of `true`."""
    orders = list(permutations(range(true.shape[1])))
    distances = [norm(estimated[:, list(order)] - true) for order in orders]
    return np.array(orders[int(np.argmin(distances))])


def symmetric_population(
    n_components: int, n_features: int, seed: int, within: float = 0.5
) -> Population:
    """Exact moments of three views that share random component means of mass one."""
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.full(n_components, 5.0))
    size = max(n_features, n_components)
    orthonormal = np.linalg.qr(random.standard_normal((size, size)))[0]
    mean = orthonormal[:n_features, :n_components]
    mean = mean + 0.1 * random.random((n_features, n_components))
    mass = pinv(mean.T) @ random.uniform(0.5, 2.0, n_components)
    mean = mean / (mass @ mean)
    lifted = np.vstack([np.ones(n_components), mean])
    triple = np.einsum("h,ah,bh,ch->abc", weights, lifted, lifted, lifted)
    second = lifted @ np.diag(weights) @ lifted.T
    second[1:, 1:] += within * np.eye(n_features)
    return Population(weights, [mean], [mass], triple, [second, second, second])


def joint_table(weights: np.ndarray, tables: list[np.ndarray]) -> np.ndarray:
    """Joint probabilities of three categorical views from their conditional tables (c_t, k)."""
    joint = np.zeros([len(table) for table in tables])
    for h, weight in enumerate(weights):
        for i in range(joint.shape[0]):
            for j in range(joint.shape[1]):
                joint[i, j] += weight * tables[0][i, h] * tables[1][j, h] * tables[2][:, h]
    return joint


def discrete_tensor_method(
    joint: np.ndarray, n_components: int, target: int, decomposition: str = "jacobi"
) -> Exact:
    """The same algorithm for categories: every moment is a marginal of the joint table."""
    moments = {
        (0, 1): joint.sum(axis=2),
        (0, 2): joint.sum(axis=1),
        (1, 2): joint.sum(axis=0),
    }
    moments |= {(b, a): table.T for (a, b), table in moments.items()}
    moments |= {(t, t): np.diag(np.moveaxis(joint, t, 0).sum(axis=(1, 2))) for t in range(3)}
    return different_views_from_moments(moments, joint, n_components, target, decomposition)


def eigenvector_tables(joint: np.ndarray, n_components: int, seed: int = 0) -> Exact:
    """Conditional tables from eigenvectors (Anandkumar, Hsu and Kakade 2012, algorithm A).

    Another method altogether: with random weights on the third view, the ratio of the weighted
    and the plain pair table has the first view's conditional probabilities as eigenvectors.
    """
    direction = np.random.default_rng(seed).standard_normal(joint.shape[2])
    pair = joint.sum(axis=2)
    left, _, right = svd(pair)
    left, right = left[:, :n_components], right[:n_components].T
    ratio = left.T @ (joint @ direction) @ right @ inv(left.T @ pair @ right)
    first = np.real(left @ np.linalg.eig(ratio)[1])
    first = first / first.sum(axis=0)
    weights = pinv(first) @ joint.sum(axis=(1, 2))
    # E[x_1 x_t'] = M_1 diag(pi) M_t'
    others = [(pinv(first) @ joint.sum(axis=3 - t)).T / weights for t in (1, 2)]
    return Exact(weights, [first, *others])
