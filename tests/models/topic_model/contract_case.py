"""Topic model of a few hundred documents, for the laws of all models."""

import numpy as np
from scipy.sparse import csr_array

from bigtensor import TopicModel

SETTINGS = {"rtol": 1e-7}


def make(kind: str) -> TopicModel:
    assert kind == "counts"
    return TopicModel(3, max_iter=2, random_state=0)


def data(kind: str) -> csr_array:
    assert kind == "counts"
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.2), 3)
    shares = rng.dirichlet(np.full(3, 0.3), 700)
    lengths = rng.integers(5, 40, 700)
    return csr_array(rng.multinomial(lengths, shares @ topics).astype(np.float32))
