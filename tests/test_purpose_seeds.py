"""Seeds of purposes."""

from bigtensor.purpose_seeds import purpose_seed, purpose_sequence

SEED_OF_LANDMARKS = 2222600838


def test_purpose_seed__is_pinned_because_fits_depend_on_it():
    assert purpose_seed(0, "landmarks") == SEED_OF_LANDMARKS
    assert purpose_seed(1, "landmarks") != SEED_OF_LANDMARKS


def test_purpose_sequence__of_numbers_has_them_as_spawn_key():
    assert purpose_sequence(3, (1, 0)).spawn_key == (1, 0)
