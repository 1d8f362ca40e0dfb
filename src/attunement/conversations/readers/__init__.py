"""Files of every shape in, conversations out.

`read` takes files, folders, patterns and standard input, recognises what is in them, and gives one conversation after
the other. Each shape has its own module; what they all need is in `names`, `talk` and `fields`.
"""

from attunement.conversations.readers.fields import Fields
from attunement.conversations.readers.formats import Format
from attunement.conversations.readers.reading import Counts, Reading, ReadOptions, read

__all__ = ["Counts", "Fields", "Format", "ReadOptions", "Reading", "read"]
