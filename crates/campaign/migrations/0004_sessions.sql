-- Finds the sessions of a campaign without looking through those of all others.

CREATE INDEX session_of_campaign ON session (campaign);
