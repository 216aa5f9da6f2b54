"""Topic model: latent Dirichlet allocation of sparse counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags

from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.errors import ConditioningWarning, DataError, Setting, warn
from bigtensor.models.contract.containers import RowAnswer
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.estimator import Estimator
from bigtensor.models.contract.opening_for_answers import open_for_answers
from bigtensor.models.contract.parameters import RandomState, ViewsLike, check_choice, check_integer
from bigtensor.models.contract.script import FitSteps, PlannedPass, single_pass
from bigtensor.models.topic_model.coherence import likely_words, mean_npmi
from bigtensor.models.topic_model.declared_parameters import PARAMETERS
from bigtensor.models.topic_model.description import TopicDescription
from bigtensor.models.topic_model.planned_passes import planned_preparation, planned_refinement
from bigtensor.models.topic_model.script import STORED_CLASSES, prepare, refine
from bigtensor.models.topic_model.settings import settings_of, without_effect
from bigtensor.models.topic_model.solution import Topics
from bigtensor.statistics.base import Pass, RowFunction
from bigtensor.statistics.topics.documents import BLOCK_ROWS, has_fractions
from bigtensor.statistics.topics.topic_shares import TOPIC_SHARE
from bigtensor.statistics.topics.word_cooccurrence import WordCooccurrence


class TopicModel(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    Estimator,
):
    r"""Latent Dirichlet allocation: documents whose words come from a few topics each.

    Every document has shares of k topics, which are drawn from a Dirichlet distribution, and every
    topic is a distribution over words (Blei, Ng and Jordan 2003). Counts may be of words in
    documents, genes in cells, items in baskets.

    The topics follow from the moments of pairs and triples of words of a document (Anandkumar, Ge,
    Hsu, Kakade and Telgarsky 2014, Theorem 3.5), contracted with a few columns, in four passes.
    Where documents follow the model, and are enough, these find every topic, whatever the seed. On
    real texts, the seed of the sketch decides some of the topics. Passes of Monte Carlo expectation
    maximisation then bring them to the accuracy of collapsed Gibbs sampling (Griffiths and Steyvers
    2004).

    Parameters
    ----------
    n_components : int or "auto", default 10
        Number of topics k: ``"auto"`` takes as many as pairs of words tell apart, at most 50. On
        real texts these are often all 50, so that a number that the question needs is better.
    doc_concentration : float or "auto", default "auto"
        Sum of the parameters of the Dirichlet prior of topic shares, estimated by default, and
        small if documents have few topics. It is 0.1 for documents of one topic, and 5 for
        documents of many. scikit-learn's ``doc_topic_prior`` is a k-th of it.
    topic_concentration : float, default 0.1
        Pseudo-count of every word in every topic in the EM iterations.
    views : mapping of str to feature names or columns, optional
        The words to use, in one view or several. By default every feature.
    power_passes : int, default 1
        Number of passes that turn a random sketch of the pairs of words towards the topics. One is
        enough where the spectrum has a gap.
    max_iter : int, optional
        Number of EM iterations over all documents, by default as many as improve the prediction of
        held-out documents, at most 40. With 0, the topics of the moments are returned.
    missing : {"raise", "omit"}, default "raise"
        Rule for rows with missing counts: ``"raise"`` is an error, and ``"omit"`` leaves the rows
        out and counts them.
    weights : {"counts", "relative"}, default "counts"
        Meaning of sample weights. With ``"counts"``, a row of weight 2 occurs twice. ``"relative"``
        weights only compare rows, and their unit has no effect: they are scaled so that their sum
        is the effective sample size of Kish (1965).
    sample_dim : str, default "sample"
        Name of the sample dimension of labelled data.
    random_state : int, RandomState or Generator, optional
        Seed of the sketch and of the draws. None stands for 0: the same data give the same model.

    Attributes
    ----------
    topics_ : (k, V) float64 array
        Probabilities of the words of every topic, in the order of the features of the views.
        Topics are in the descending order of `topic_weights_`.
    topic_weights_ : (k,) float64 array
        Share of all words that every topic gives.
    doc_concentration_ : (k,) float64 array
        Parameters of the Dirichlet prior of the shares.
    components_ : (k, V) float64 array
        Expected number of times that a topic gives a word: as in scikit-learn, topics up to a
        factor each.
    views_ : Views
        The views as they were found in the data.
    n_iter_ : int
        EM iterations over all documents.
    diagnostics_ : dict
        Every decision taken on the way: concentration of the moments, prediction of held-out
        documents after every pass, the plan and the passes, and a ``verdict``.
    n_features_in_ : int
        Number of features of the data.
    feature_names_in_ : array of str
        For labelled data.

    References
    ----------
    - A. Anandkumar, R. Ge, D. Hsu, S. M. Kakade and M. Telgarsky. Tensor decompositions for
      learning latent variable models. Journal of Machine Learning Research 15, 2014.
    - D. M. Blei, A. Y. Ng and M. I. Jordan. Latent Dirichlet allocation. Journal of Machine
      Learning Research 3, 2003.
    - A. Asuncion, M. Welling, P. Smyth and Y. W. Teh. On smoothing and inference for topic models.
      UAI 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from bigtensor import TopicModel
    >>> rng = np.random.default_rng(0)
    >>> topics = rng.dirichlet(np.full(50, 0.1), 3)
    >>> counts = csr_array(rng.multinomial(40, rng.dirichlet([0.3] * 3, 1000) @ topics))
    >>> model = TopicModel(3).fit(counts)
    >>> model.transform(counts).shape
    (1000, 3)
    """

    declares = PARAMETERS
    takes = Data(kinds={"counts"}, dense_counts=True)
    steps = FitSteps(
        settings_of,
        prepare,
        refine,
        planned_preparation,
        planned_refinement,
        without_effect=without_effect,
    )
    stored_classes = STORED_CLASSES
    description = TopicDescription()
    only_view = "words"

    topics_: NDArray[np.float64]
    topic_weights_: NDArray[np.float64]
    doc_concentration_: NDArray[np.float64]
    components_: NDArray[np.float64]
    solution_: Topics

    def __init__(
        self,
        n_components: int | str = 10,
        *,
        doc_concentration: float | str = "auto",
        topic_concentration: float = 0.1,
        views: ViewsLike | None = None,
        power_passes: int = 1,
        max_iter: int | None = None,
        missing: str = "raise",
        weights: str = "counts",
        sample_dim: str = "sample",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.doc_concentration = doc_concentration
        self.topic_concentration = topic_concentration
        self.views = views
        self.power_passes = power_passes
        self.max_iter = max_iter
        self.missing = missing
        self.weights = weights
        self.sample_dim = sample_dim
        self.random_state = random_state

    def transform(self, X: DataLike) -> RowAnswer:
        """Return the expected shares of the topics of every document.

        Parameters
        ----------
        X : path, xarray, AnnData, dask array, array-like or sparse
            As for `fit`.

        Returns
        -------
        (rows, k) float64 array, DataArray or dask array
            In the kind of container of ``X``, lazy if ``X`` is lazy. Rows sum to one. A document
            without a word has the shares of the prior. The shares of documents of two to five words
            differ from the exact expectation by up to 0.07.

        Warns
        -----
        ConditioningWarning
            When counts of the fit were whole and the first rows here are not, unless ``X`` is lazy.
        """
        return self.row_output(X, TOPIC_SHARE)

    def score(
        self,
        X: DataLike,
        y: str | RowVariableLike | None = None,  # noqa: ARG002
        sample_weight: RowVariableLike | None = None,
    ) -> float:
        """Return the mean log-probability of a word, in nats, by document completion.

        Half the words of every document are drawn at random. They tell the shares of its topics,
        with which the other half is predicted (Wallach, Murray, Salakhutdinov and Mimno 2009).

        Parameters
        ----------
        X : path, xarray, AnnData, dask array, array-like or sparse
            Documents, best of all others than those of the fit.
        y : ignored
            Not used.
        sample_weight : (rows,) array-like, optional
            Weights of the documents, not negative.

        Raises
        ------
        DataError
            When no word is left to predict.

        Warns
        -----
        ConditioningWarning
            As for `transform`.
        """
        completion = self._topics().ordered_completion(self._seed)
        pass_ = Pass("completion", completion)
        samples = open_for_answers(self, X, sample_weight=sample_weight)
        predicted = self.run_passes(samples, single_pass(pass_), [PlannedPass(pass_)]).result
        self.warn_of_rows(samples)
        if not predicted.words > 0:
            raise DataError("the documents have no two words: none is left to predict")
        return float(predicted.mean)

    def perplexity(self, X: DataLike, sample_weight: RowVariableLike | None = None) -> float:
        """Return the perplexity of held-out words: the exponential of minus `score`.

        Parameters
        ----------
        X, sample_weight
            As for `score`.

        Warns
        -----
        ConditioningWarning
            As for `transform`.
        """
        return float(np.exp(-self.score(X, sample_weight=sample_weight)))

    def coherence(self, X: DataLike, n_words: int = 10) -> NDArray[np.float64]:
        """Return how often the likely words of every topic share documents, in one pass.

        Parameters
        ----------
        X : path, xarray, AnnData, dask array, array-like or sparse
            As for `fit`.
        n_words : int, default 10
            Likely words of a topic, of which all pairs count.

        Returns
        -------
        (k,) float64 array
            Mean normalised pointwise mutual information: 1 for words that share all their
            documents, 0 for independent words, -1 for words that share none.
        """
        check_integer("n_words", n_words, 2)
        topics = self._topics().topics
        words, places = np.unique(likely_words(topics, n_words), return_inverse=True)
        statistic = WordCooccurrence(tuple(map(int, words)), len(topics))
        cooccurrence = self.sum_rows(X, "cooccurrence", statistic)
        return mean_npmi(cooccurrence, places.reshape(topics.shape[1], -1))

    def top_words(self, n_words: int = 10) -> list[list[str]]:
        """Return the names of the likeliest words of every topic, descending.

        Parameters
        ----------
        n_words : int, default 10
            Number of words of a topic.
        """
        check_integer("n_words", n_words, 1)
        names = np.asarray(self._features(), dtype=object)
        return [list(names[own]) for own in likely_words(self._topics().topics, n_words)]

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> sp.csr_array:
        """Draw documents from the fitted model.

        Parameters
        ----------
        n_samples : int
            Number of documents.
        random_state : int, RandomState or Generator, optional
            None stands for the seed of the model.

        Returns
        -------
        (n_samples, features) CSR array of int32
            Words in the order of the data of the fit, with zeros for words that are in no view:
            ``[:, model.views_.order]`` has the words of `topics_`. Lengths of documents are
            Poisson numbers, with the mean length of the fit.
        """
        check_integer("n_samples", n_samples, 1)
        drawn = self._topics().draw(n_samples, self._generator(random_state))
        columns = np.asarray(self.views_.order)[drawn.indices]
        shape = n_samples, self.n_features_in_
        documents = sp.csr_array((drawn.data, columns, drawn.indptr), shape=shape)
        documents.sort_indices()
        return documents

    def row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row."""
        for output in outputs:
            check_choice("outputs", output, (TOPIC_SHARE,))
        return self._topics().shares()

    def warn_of_rows(self, samples: Any) -> None:
        """Warn of transformed counts, of which the first rows hold fractions."""
        if samples.is_lazy or not self.diagnostics_["whole_counts"]:
            return
        stop = min(BLOCK_ROWS, int(samples.sources[0].rows))
        if any(map(has_fractions, samples.blocks([(0, stop)], BLOCK_ROWS))):
            warn(
                f"{samples.describe()} holds numbers that are not whole, and {type(self).__name__} "
                "was fitted to counts: its answers are not for transformed counts. Give counts "
                "before any transformation, such as " + Setting("layer", "counts") + " of AnnData",
                ConditioningWarning,
            )

    def _features(self) -> tuple[str, ...]:
        """Return the names of the words, in the order of `topics_`."""
        return self.views_.feature_names

    def _topics(self) -> Topics:
        """Return the solution, or raise sklearn's NotFittedError."""
        self.require_fitted()
        return self.solution_

    def set_fitted_attributes(self, solution: Topics) -> None:
        """Set the attributes that users read."""
        self.n_iter_ = int(self.diagnostics_.get("n_iter", 0))
        self.topics_ = solution.topics.T
        self.topic_weights_ = solution.words / solution.words.sum()
        self.doc_concentration_ = solution.prior
        self.components_ = solution.topics.T * solution.words[:, None]

    @property
    def _n_features_out(self) -> int:
        """Number of topics, for the names that scikit-learn gives them."""
        return self._topics().n_components

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn: counts, sparse or dense."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
