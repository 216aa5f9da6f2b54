"""Plain arrays with wider views: features that depend on each other share a view.

Two of the views are curved clouds in the plane, in which the features of one component depend on
each other; the third is a single feature. Run it with ``python examples/numpy_views.py``.
"""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture

Array = np.ndarray


def make_data(rows: int, seed: int) -> tuple[Array, Array]:
    """Draw rows of three components with curved densities, and their labels."""
    rng = np.random.default_rng(seed)
    label = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    # components, and in each the bend and the place of the curve in both views
    bend = np.array([0.7, -0.7, 0.7])[label]
    place = np.array([[0.0, 0.0], [0.5, 4.0], [1.0, -4.5]])[label]
    columns = []
    for _ in range(2):
        along = rng.normal(size=rows)
        across = bend * along**2 + 0.4 * rng.normal(size=rows)
        columns += [along + place[:, 0], across + place[:, 1]]
    columns.append(np.array([0.0, 2.5, 5.0])[label] + rng.gumbel(size=rows))
    return np.stack(columns, axis=1), label


def main() -> None:
    X, label = make_data(40_000, seed=1)
    views = {"left": [0, 1], "right": [2, 3], "time": [4]}
    model = KernelMixture(3, views=views, random_state=0).fit(X)

    print("weights          ", model.weights_.round(3), "(true 0.5 0.3 0.2)")
    print(
        f"agreement        {adjusted_rand_score(label, model.predict(X)):.3f} adjusted Rand index"
    )
    print(f"mean log-density {model.score(X):.3f} nats\n")

    print("E[feature | component], without smoothing")
    print("  time           ", model.expectation("time", lambda x: x).round(2))
    print("  left           ", model.expectation("left", lambda x: x).round(2).tolist())
    bent = model.expectation("left", lambda x: x[:, 1] > 1.0)
    print("  P(left[1] > 1) ", bent.round(3), "\n")

    points = np.array([[0.0, 0.0], [0.5, 4.0], [1.0, -4.5]])
    print("density of view 'left' at three points, one column a component")
    print(model.component_density("left", points).round(4), "\n")

    drawn, component = model.sample(40_000, random_state=2)
    print("a sample of the model keeps the shape of the data, a little blurred by the kernel")
    for h in range(3):
        ours = np.corrcoef(drawn[component == h][:, :2] ** 2, rowvar=False)[0, 1]
        theirs = np.corrcoef(X[model.predict(X) == h][:, :2] ** 2, rowvar=False)[0, 1]
        print(
            f"  component {h}: squares of 'left' correlate {ours:+.2f}, in the data {theirs:+.2f}"
        )


if __name__ == "__main__":
    main()
