-- What power cuts left, as a view over the results. The metric `survived` is 100.0 * held / cuts; the view
-- `measurement` does not have it.

CREATE VIEW survival (campaign, cell, position, phase, positions, cuts, held, unmountable, unwritable, inconsistent) AS
SELECT
    campaign,
    cell,
    part.key,
    part.value ->> 'phase',
    part.value ->> '$.survival.positions',
    part.value ->> '$.survival.cuts',
    part.value ->> '$.survival.held',
    part.value ->> '$.survival.unmountable',
    part.value ->> '$.survival.unwritable',
    part.value ->> '$.survival.inconsistent'
FROM cell, json_each(result, '$.phases') AS part
WHERE part.value ->> 'survival' IS NOT NULL;
