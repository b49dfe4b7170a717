-- Facts about the file itself; unlike all other rows they change.
--
-- `closed`: modification time of the file, in seconds since 1970, if the last writer closed it. Any other time means
-- that a writer was killed or that another program changed the file.
-- `campaigns`: the highest number of a deleted campaign, which no other campaign gets.

CREATE TABLE upkeep (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
