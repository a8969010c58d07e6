"""One phase of one peer, in a process of its own: `peer.py NAME PHASE CORPUS PAIRS`.

Each library is used as fast as its documentation says how, with 128 slots in 32 bands of 4 and a
threshold of 0.5, on sets of shingles of two words. The last line is one JSON object.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from measuring import (
    BANDS,
    ROWS_PER_BAND,
    SLOTS,
    THRESHOLD,
    Pair,
    Stages,
    peak_mb,
    read_texts,
    write_pairs,
)

_WORD = re.compile(r"\w+")


def shingles(text: str) -> list[str]:
    """Return the distinct pairs of neighbouring words, as a user of these libraries makes them."""
    words = _WORD.findall(text.lower())
    return list({f"{one} {other}" for one, other in zip(words, words[1:], strict=False)})


class Datasketch:
    """MinHash and MinHashLSH of datasketch."""

    def sign(self, texts: list[str]) -> list[Any]:
        from datasketch import MinHash

        return MinHash.bulk(
            ([shingle.encode() for shingle in shingles(text)] for text in texts), num_perm=SLOTS
        )

    def index(self, texts: list[str]) -> None:
        from datasketch import MinHashLSH

        self.signatures = self.sign(texts)
        self.lsh = MinHashLSH(num_perm=SLOTS, params=(BANDS, ROWS_PER_BAND))
        for key, signature in enumerate(self.signatures):
            self.lsh.insert(key, signature, check_duplication=False)

    def query(self) -> list[list[int]]:
        return [self.lsh.query(signature) for signature in self.signatures]

    def pairs(self) -> list[Pair]:
        return _verified(self.query(), self.signatures)


class Rensa:
    """RMinHash and RMinHashLSH of rensa: all shingles, not its sampling "rho" pipeline."""

    def sign(self, texts: list[str]) -> list[Any]:
        from rensa import RMinHash

        return list(RMinHash.from_token_sets(map(shingles, texts), num_perm=SLOTS, seed=42))

    def index(self, texts: list[str]) -> None:
        from rensa import RMinHashLSH

        self.signatures = self.sign(texts)
        self.lsh = RMinHashLSH(threshold=THRESHOLD, num_perm=SLOTS, num_bands=BANDS)
        self.lsh.insert_many(self.signatures)

    def query(self) -> list[list[int]]:
        return list(self.lsh.query_all(self.signatures))

    def pairs(self) -> list[Pair]:
        return _verified(self.query(), self.signatures)


class Gaoya:
    """MinHashStringIndex of gaoya, which keeps signatures to itself and verifies by them."""

    analyzer: Any = "word"

    def _new_index(self) -> Any:
        from gaoya.minhash import MinHashStringIndex

        return MinHashStringIndex(
            hash_size=32,
            jaccard_threshold=THRESHOLD,
            num_bands=BANDS,
            band_size=ROWS_PER_BAND,
            analyzer=self.analyzer,
            lowercase=True,
            ngram_range=(2, 2),
            id_container="smallvec",
        )

    def index(self, texts: list[str]) -> None:
        self.texts = texts
        self.lsh = self._new_index()
        self.lsh.par_bulk_insert_docs(list(range(len(texts))), texts)

    def query(self) -> list[list[int]]:
        return list(self.lsh.par_bulk_query(self.texts))

    def pairs(self) -> list[Pair]:
        return [
            (other, key)
            for key, others in enumerate(self.query())
            for other in others
            if other < key
        ]


class GaoyaGivenShingles(Gaoya):
    """The same with the shingles that the others get."""

    analyzer = staticmethod(shingles)


PEERS: dict[str, type[Datasketch] | type[Rensa] | type[Gaoya]] = {
    "datasketch": Datasketch,
    "rensa": Rensa,
    "gaoya": Gaoya,
    "gaoya-shingles": GaoyaGivenShingles,
}


def _verified(found: list[list[int]], signatures: list[Any]) -> list[Pair]:
    return [
        (other, key)
        for key, others in enumerate(found)
        for other in others
        if other < key and signatures[other].jaccard(signatures[key]) >= THRESHOLD
    ]


def clusters(pairs: list[Pair]) -> dict[int, int]:
    """Return the cluster of each text that is in a pair: the least key that pairs connect it to."""
    parents: dict[int, int] = {}

    def root(key: int) -> int:
        parents.setdefault(key, key)
        while parents[key] != key:
            parents[key] = parents[parents[key]]
            key = parents[key]
        return key

    for pair in pairs:
        one, other = root(pair[0]), root(pair[1])
        parents[max(one, other)] = min(one, other)
    return {key: root(key) for key in parents}


def main() -> None:
    """Run one phase: sign, search or dedupe."""
    name, phase, corpus, pairs_path = sys.argv[1:]
    peer = PEERS[name]()
    stages = Stages()
    figures: dict[str, Any] = {}
    if phase == "dedupe":
        with stages.stage("dedupe"):
            peer.index(read_texts(Path(corpus)))
            pairs = peer.pairs()
            members = clusters(pairs)
        figures = {"pairs": len(pairs), "clusters": len(set(members.values()))}
        write_pairs(Path(pairs_path), pairs)
    else:
        texts = read_texts(Path(corpus))
        if phase == "sign":
            if not isinstance(peer, Gaoya):
                with stages.stage("sign"):
                    peer.sign(texts)
        else:
            with stages.stage("index"):
                peer.index(texts)
            with stages.stage("query"):
                peer.query()
    print(json.dumps({**figures, "wall": stages.wall, "cpu": stages.cpu, "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main()
