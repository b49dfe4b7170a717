-- What the instrument costs and what the device can do, as found before a campaign's first cell.
--
-- A campaign has one; when it is resumed it goes on with the one that is there. Campaigns of older
-- versions have none.

CREATE TABLE calibration (
    campaign    INTEGER PRIMARY KEY REFERENCES campaign (id),
    taken       INTEGER NOT NULL,
    calibration TEXT NOT NULL CHECK (json_valid(calibration))
) STRICT;

CREATE TRIGGER calibration_stays BEFORE UPDATE ON calibration BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER calibration_kept BEFORE DELETE ON calibration BEGIN SELECT RAISE(ABORT, 'append-only'); END;
