import numpy as np

from representer._loops import tokens


def test_runs_of_letters_and_rows_of_them():
    texts = ["ab cd", "", "a  ab", "cd"]
    codes = np.array([ord(letter) for letter in "".join(texts)], np.uint32)
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    is_letter = np.array([chr(code).isalpha() for code in range(128)])
    owners, hashes, begins, ends = tokens.tokens(codes, starts, is_letter)
    assert owners.tolist() == [0, 0, 2, 3]  # "a" is too short
    assert begins.tolist() == [0, 3, 8, 10]
    assert ends.tolist() == [2, 5, 10, 12]
    assert hashes[0] == hashes[2] != hashes[1] == hashes[3]
    places, rows = tokens.rows_of(hashes, owners, 2)
    assert places.tolist() == [0]  # no row reaches from one text into the next
    assert len({*rows.tolist(), *tokens.rows_of(hashes, owners, 1)[1].tolist()}) == 3
