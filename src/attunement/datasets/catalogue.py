"""Which data sets can be read, and where is each to be had?"""

from attunement.datasets import empathy_judge, kumar, long_table, mentalalign, moore, vera
from attunement.datasets.base import Dataset
from attunement.errors import InputError

DATASETS = (
    Dataset(
        "kumar2025",
        "200 supportive conversations in four sets, 21 dimensions",
        "3 experts; crowd; 3 LLMs",
        "MIT",
        "github aakriti1kumar/replication-data-and-code-when-LLMs-reliable-empathic-communication",
        "whether a judge rates empathy as experts do; text for 150 of the 200",
        kumar.read,
    ),
    Dataset(
        "vera-mh",
        "chats with a simulated person at risk, 5 safety dimensions and the risk level",
        "6 clinicians, 3 a chat",
        "MIT-style, keep its LICENSE",
        "github SpringCare/VERA-MH (newer versions and forks hold the clinicians' ratings)",
        "whether a judge sees what clinicians call harmful; with text",
        vera.read,
    ),
    Dataset(
        "moore2025",
        "350 replies to probes with mania, delusions, compulsion or suicidal thoughts",
        "2 annotators, 98 replies by both; gpt-4o",
        "MIT",
        "github jlcmoore/llms-as-therapists (classification_validation.csv)",
        "how many inappropriate replies a judge misses; with text",
        moore.read,
    ),
    Dataset(
        "mentalalign",
        "1,000 contexts x 10 systems x 7 attributes",
        "1 expert score a cell; 4 LLM judges",
        "MIT",
        "github abeerbadawi/MentalBench-Align (MentalAlign-70k)",
        "how ranking systems differs from rating replies; no text, so no judge can be asked",
        mentalalign.read,
    ),
    Dataset(
        "empathy-judge",
        "600 replies of 3 systems, scored three times by one LLM on emotion, validation, helpfulness, safety, overall",
        "none",
        "none stated",
        "a folder with pairs of files NAME.jsonl and NAME_judge.jsonl",
        "how constant a judge is; with text",
        empathy_judge.read,
    ),
    Dataset(
        "table",
        "any long table of ratings: conversation, rater, item, value",
        "yours",
        "yours",
        "a table, or a folder with ratings.csv and, if there is text, conversations.jsonl",
        "whatever people rated; the instrument is made from the ids and values",
        long_table.read,
    ),
)


def find_dataset(name: str) -> Dataset:
    """The data set with this name.

    Raises:
        InputError: There is none; the message names those there are.
    """
    for entry in DATASETS:
        if entry.name == name:
            return entry
    raise InputError(f"there is no data set {name!r}; there are {', '.join(entry.name for entry in DATASETS)}")
