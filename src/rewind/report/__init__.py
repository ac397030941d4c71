"""The page of a training, cards and inspections of data, films of policies: what people read and look at."""
