"""The contract test of tocsin, run by pytest or as a script."""

from own_index import NARROWEST

from tocsin import indexes


def test_it_answers_like_a_scan():
    checked = indexes.check(NARROWEST, rounds=5)

    assert checked.refused == 0
    assert checked.candidates < checked.conditions * 80


if __name__ == "__main__":
    print(indexes.check(NARROWEST, rounds=5))
