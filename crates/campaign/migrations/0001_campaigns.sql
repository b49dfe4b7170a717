-- Campaigns with their plans, sessions, results and measurements.
--
-- The complete facts are the JSON columns (the types of crates/model); the other columns repeat
-- parts of them for queries. Times are nanoseconds, points in time count from 1970.

CREATE TABLE campaign (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    started    INTEGER NOT NULL,
    profile    TEXT NOT NULL,
    backend    TEXT NOT NULL,
    definition TEXT NOT NULL CHECK (json_valid(definition))
) STRICT;

-- A campaign has one session for its beginning and one for each time it was resumed.
CREATE TABLE session (
    id          INTEGER PRIMARY KEY,
    campaign    INTEGER NOT NULL REFERENCES campaign (id),
    started     INTEGER NOT NULL,
    environment TEXT NOT NULL CHECK (json_valid(environment))
) STRICT;

-- The plan. Kept, so that resuming never plans again.
CREATE TABLE planned_cell (
    campaign  INTEGER NOT NULL REFERENCES campaign (id),
    cell      INTEGER NOT NULL,
    contender TEXT NOT NULL,
    suite     TEXT NOT NULL,
    test      TEXT NOT NULL,
    round     INTEGER NOT NULL,
    seed      TEXT NOT NULL, -- decimal: 64 bits without sign do not fit an INTEGER
    PRIMARY KEY (campaign, cell),
    UNIQUE (campaign, contender, suite, test, round)
) STRICT, WITHOUT ROWID;

-- What became of a cell; its presence means that the cell is done.
CREATE TABLE cell (
    campaign INTEGER NOT NULL,
    cell     INTEGER NOT NULL,
    session  INTEGER NOT NULL REFERENCES session (id),
    status   TEXT NOT NULL,
    started  INTEGER NOT NULL,
    elapsed  INTEGER NOT NULL,
    result   TEXT NOT NULL CHECK (json_valid(result)),
    PRIMARY KEY (campaign, cell),
    FOREIGN KEY (campaign, cell) REFERENCES planned_cell (campaign, cell)
) STRICT;

CREATE TABLE phase (
    campaign INTEGER NOT NULL,
    cell     INTEGER NOT NULL,
    position INTEGER NOT NULL, -- from 0, in the order of the test
    phase    TEXT NOT NULL,
    status   TEXT NOT NULL,
    cache    TEXT NOT NULL,
    PRIMARY KEY (campaign, cell, position),
    FOREIGN KEY (campaign, cell) REFERENCES cell (campaign, cell)
) STRICT, WITHOUT ROWID;

CREATE TABLE measurement (
    campaign  INTEGER NOT NULL,
    cell      INTEGER NOT NULL,
    position  INTEGER NOT NULL,
    phase     TEXT NOT NULL,
    metric    TEXT NOT NULL,
    unit      TEXT NOT NULL,
    value     REAL NOT NULL,
    direction TEXT NOT NULL,
    cache     TEXT NOT NULL,
    PRIMARY KEY (campaign, cell, position, metric),
    FOREIGN KEY (campaign, cell, position) REFERENCES phase (campaign, cell, position)
) STRICT, WITHOUT ROWID;

-- Append-only: what was found stays as it was found.
CREATE TRIGGER campaign_stays BEFORE UPDATE ON campaign BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER campaign_kept BEFORE DELETE ON campaign BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER session_stays BEFORE UPDATE ON session BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER session_kept BEFORE DELETE ON session BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER planned_cell_stays BEFORE UPDATE ON planned_cell BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER planned_cell_kept BEFORE DELETE ON planned_cell BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER cell_stays BEFORE UPDATE ON cell BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER cell_kept BEFORE DELETE ON cell BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER phase_stays BEFORE UPDATE ON phase BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER phase_kept BEFORE DELETE ON phase BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER measurement_stays BEFORE UPDATE ON measurement BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER measurement_kept BEFORE DELETE ON measurement BEGIN SELECT RAISE(ABORT, 'append-only'); END;
