-- Campaigns that came from elsewhere. What they would run came with them, so that none of it is ever run here.

CREATE TABLE imported (
    campaign INTEGER PRIMARY KEY REFERENCES campaign (id),
    digest   BLOB NOT NULL CHECK (length(digest) = 32)
) STRICT;

CREATE TRIGGER imported_stays BEFORE UPDATE ON imported BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER imported_kept BEFORE DELETE ON imported BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER imported_once BEFORE INSERT ON imported
WHEN EXISTS (SELECT 1 FROM imported WHERE campaign = NEW.campaign)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
