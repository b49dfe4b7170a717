-- Phases and measurements as views over the results, for queries. Files of older versions have tables of these
-- names, which remain as they are: nothing is added to them.
--
-- The numbers are those of crates/model/src/result/measurement.rs. A new metric needs a migration that replaces
-- the view, or a view that databases of earlier versions do not get, as for `survived` and `stall`.

CREATE VIEW IF NOT EXISTS phase (campaign, cell, position, phase, status, cache) AS
SELECT campaign, cell, part.key, part.value ->> 'phase', part.value ->> 'status', part.value ->> 'cache'
FROM cell, json_each(result, '$.phases') AS part;

CREATE VIEW IF NOT EXISTS measurement
    (campaign, cell, position, phase, metric, unit, value, direction, cache) AS
WITH
metric (name, unit, direction) AS (VALUES
    ('throughput', 'bytes-per-second', 'higher'),
    ('rate', 'per-second', 'higher'),
    ('elapsed', 'seconds', 'lower'),
    ('capacity', 'percent', 'higher'),
    ('survived', 'percent', 'higher'),
    ('supported', 'count', 'higher'),
    ('cpu', 'percent', 'neutral'),
    ('cpu-driver', 'percent', 'neutral'),
    ('cpu-machine', 'percent', 'neutral'),
    ('cpu-per-operation', 'seconds', 'lower'),
    ('minor-faults', 'count', 'neutral'),
    ('major-faults', 'count', 'neutral'),
    ('latency-p50', 'seconds', 'lower'),
    ('latency-p90', 'seconds', 'lower'),
    ('latency-p95', 'seconds', 'lower'),
    ('latency-p99', 'seconds', 'lower'),
    ('latency-p999', 'seconds', 'lower'),
    ('latency-p9999', 'seconds', 'lower'),
    ('latency-max', 'seconds', 'lower'),
    ('latency-mean', 'seconds', 'lower'),
    ('latency-above-2s', 'percent', 'lower'),
    ('latency-above-10s', 'percent', 'lower'),
    ('stall', 'seconds', 'lower'),
    ('time-to-steady', 'seconds', 'neutral'),
    ('steady-throughput', 'bytes-per-second', 'higher'),
    ('steady-rate', 'per-second', 'higher'),
    ('first-finish', 'seconds', 'neutral'),
    ('stonewall-throughput', 'bytes-per-second', 'higher'),
    ('stonewall-rate', 'per-second', 'higher'),
    ('sync-p50', 'seconds', 'lower'),
    ('sync-p95', 'seconds', 'lower'),
    ('sync-p99', 'seconds', 'lower'),
    ('sync-max', 'seconds', 'lower'),
    ('open-mean', 'seconds', 'lower'),
    ('open-max', 'seconds', 'lower'),
    ('close-mean', 'seconds', 'lower'),
    ('close-max', 'seconds', 'lower'),
    ('device-read', 'bytes', 'neutral'),
    ('device-written', 'bytes', 'neutral'),
    ('device-flushes', 'count', 'neutral'),
    ('write-amplification', 'ratio', 'lower'),
    ('space-taken', 'bytes', 'neutral'),
    ('compression', 'ratio', 'higher'),
    ('memory-kernel', 'bytes', 'neutral'),
    ('memory-driver', 'bytes', 'neutral'),
    ('extents-per-file', 'ratio', 'neutral'),
    ('layout-score', 'percent', 'neutral')
),
-- Metrics of a latency histogram: a quantile, where 1 is the maximum, or the share above a limit.
quantile (name, histogram, share) AS (VALUES
    ('latency-p50', '$.latency', 0.5),
    ('latency-p90', '$.latency', 0.9),
    ('latency-p95', '$.latency', 0.95),
    ('latency-p99', '$.latency', 0.99),
    ('latency-p999', '$.latency', 0.999),
    ('latency-p9999', '$.latency', 0.9999),
    ('latency-max', '$.latency', 1.0),
    ('sync-p50', '$.sync', 0.5),
    ('sync-p95', '$.sync', 0.95),
    ('sync-p99', '$.sync', 0.99),
    ('sync-max', '$.sync', 1.0),
    ('open-max', '$.open', 1.0),
    ('close-max', '$.close', 1.0)
),
mean (name, histogram) AS (VALUES
    ('latency-mean', '$.latency'), ('open-mean', '$.open'), ('close-mean', '$.close')
),
slow (name, above) AS (VALUES ('latency-above-2s', 2e9), ('latency-above-10s', 10e9)),
part AS (
    SELECT
        campaign,
        cell,
        each.key AS position,
        each.value AS result,
        each.value ->> 'phase' AS phase,
        each.value ->> 'cache' AS cache,
        coalesce(json_array_length(each.value, '$.stated'), 0) > 0 OR each.value ->> 'ends' = 'unstated' AS imported,
        coalesce(each.value ->> 'primary_metric', each.value ->> 'headline') AS main,
        each.value ->> 'role_of' IS NULL AS alone,
        each.value ->> 'wall' AS wall,
        each.value ->> 'operations' AS operations,
        1.0 * max(coalesce(json_array_length(each.value, '$.passes'), 0), 1) AS passes,
        -- Hosts that ran the phase together: time of the first to finish, and operations of all until then.
        (SELECT min(host.value ->> 'wall') FROM json_each(each.value, '$.hosts') AS host) AS first,
        (SELECT total(min(coalesce(host.value ->> 'at_first_end', host.value ->> 'operations'),
            host.value ->> 'operations')) FROM json_each(each.value, '$.hosts') AS host) AS together
    FROM cell, json_each(cell.result, '$.phases') AS each
    WHERE each.value ->> 'status' = 'ok'
),
number (campaign, cell, position, phase, cache, result, name, value) AS (
    SELECT campaign, cell, position, phase, cache, result, name, CASE name
        WHEN 'throughput' THEN iif(
            main NOT IN ('capacity', 'supported', 'survived') AND wall > 0 AND result ->> 'bytes' > 0,
            (result ->> 'bytes') / (wall / 1e9), NULL)
        WHEN 'rate' THEN iif(
            main NOT IN ('capacity', 'supported', 'survived') AND wall > 0 AND operations > 0, operations / (wall / 1e9), NULL)
        WHEN 'elapsed' THEN iif(main NOT IN ('capacity', 'supported', 'survived') AND alone, wall / 1e9 / passes, NULL)
        WHEN 'capacity' THEN iif(
            main = 'capacity' AND result ->> 'device_size' > 0,
            100.0 * (result ->> '$.space_after.available') / (result ->> 'device_size'), NULL)
        WHEN 'survived' THEN CASE
            WHEN main <> 'survived' THEN NULL
            WHEN result ->> '$.survival.cuts' > 0 THEN
                100.0 * (result ->> '$.survival.held') / (result ->> '$.survival.cuts')
            WHEN (result ->> '$.disk_faults.data.faults') + (result ->> '$.disk_faults.other.faults') > 0 THEN
                100.0 * ((result ->> '$.disk_faults.data.faults') + (result ->> '$.disk_faults.other.faults')
                    - (result ->> '$.disk_faults.data.wrong') - (result ->> '$.disk_faults.other.wrong'))
                    / ((result ->> '$.disk_faults.data.faults') + (result ->> '$.disk_faults.other.faults'))
            WHEN result ->> '$.full.files' > 0 THEN
                100.0 * max(0, (result ->> '$.full.files') - max(
                    result ->> '$.full.lost_when_full', coalesce(result ->> '$.full.lost_after_mount', 0)))
                    / (result ->> '$.full.files')
            END
        WHEN 'supported' THEN iif(main = 'supported', 1.0, NULL)
        WHEN 'cpu' THEN iif(
            wall > 0 AND alone, 100.0 * ((result ->> '$.cpu.user') + (result ->> '$.cpu.system')) / wall, NULL)
        WHEN 'cpu-driver' THEN iif(wall > 0 AND alone, 100.0 * (result ->> '$.cpu.driver') / wall, NULL)
        WHEN 'cpu-machine' THEN iif(wall >= 2e8 AND alone, 100.0 * (result ->> '$.cpu.machine') / wall, NULL)
        WHEN 'cpu-per-operation' THEN iif(
            wall > 0 AND alone AND operations > 0,
            ((result ->> '$.cpu.user') / 1e9 + (result ->> '$.cpu.system') / 1e9 + (result ->> '$.cpu.driver') / 1e9)
                / operations, NULL)
        WHEN 'minor-faults' THEN iif(wall > 0 AND alone, (result ->> '$.faults.minor') / passes, NULL)
        WHEN 'major-faults' THEN iif(wall > 0 AND alone, (result ->> '$.faults.major') / passes, NULL)
        WHEN 'device-read' THEN (result ->> '$.device.read_bytes') / passes
        WHEN 'device-written' THEN (result ->> '$.device.write_bytes') / passes
        WHEN 'device-flushes' THEN (result ->> '$.device.flushes') / passes
        WHEN 'write-amplification' THEN iif(
            result ->> 'ends' <> 'call' AND result ->> 'bytes_written' > 0,
            1.0 * (result ->> '$.device.write_bytes') / (result ->> 'bytes_written'), NULL)
        WHEN 'space-taken' THEN 1.0 * (result ->> '$.space_before.free') - (result ->> '$.space_after.free')
        WHEN 'compression' THEN iif(
            result ->> 'content' IS NOT NULL AND (result ->> 'bytes_written') / passes >= 1048576
                AND (result ->> '$.space_before.free') > (result ->> '$.space_after.free'),
            (result ->> 'bytes_written') / passes
                / (1.0 * (result ->> '$.space_before.free') - (result ->> '$.space_after.free')), NULL)
        WHEN 'stall' THEN (result ->> '$.timeline.stall.length') / 1e9
        WHEN 'time-to-steady' THEN (result ->> '$.timeline.steady.from') / 1e9
        WHEN 'steady-throughput' THEN iif(
            result ->> 'bytes' > 0, 1.0 * (result ->> '$.timeline.steady.throughput'), NULL)
        WHEN 'steady-rate' THEN 1.0 * (result ->> '$.timeline.steady.rate')
        WHEN 'first-finish' THEN first / 1e9
        WHEN 'stonewall-throughput' THEN iif(
            first > 0 AND together > 0 AND operations > 0 AND result ->> 'bytes' > 0,
            together * (1.0 * (result ->> 'bytes') / operations) / (first / 1e9), NULL)
        WHEN 'stonewall-rate' THEN iif(first > 0 AND together > 0 AND operations > 0, together / (first / 1e9), NULL)
        WHEN 'memory-kernel' THEN 1.0 * (result ->> '$.memory.kernel')
        WHEN 'memory-driver' THEN 1.0 * (result ->> '$.memory.driver')
        WHEN 'extents-per-file' THEN iif(
            result ->> '$.layout.files' > 0, 1.0 * (result ->> '$.layout.pieces') / (result ->> '$.layout.files'), NULL)
        WHEN 'layout-score' THEN iif(
            result ->> '$.layout.blocks' > 0,
            100.0 * (1.0 * (result ->> '$.layout.behind') / (result ->> '$.layout.blocks')), NULL)
        END
    FROM part, metric
    WHERE NOT imported
    UNION ALL
    SELECT campaign, cell, position, phase, cache, result, name, (
        SELECT coalesce(min(latency) FILTER (WHERE seen >= share * whole AND seen >= 1), max(latency)) / 1e9
        FROM (
            SELECT
                value ->> 0 AS latency,
                total(value ->> 1) OVER (ORDER BY key) AS seen,
                total(value ->> 1) OVER () AS whole
            FROM json_each(result, histogram)
        ))
    FROM part, quantile
    UNION ALL
    -- Adds the buckets in their order: sum() would compensate for rounding, and give other digits.
    SELECT campaign, cell, position, phase, cache, result, name, (
        WITH RECURSIVE walk (at, seconds, seen, bucket) AS (
            SELECT 0, 0.0, 0.0, buckets -> 0
            UNION ALL
            SELECT at + 1, seconds + (bucket ->> 0) / 1e9 * (bucket ->> 1), seen + (bucket ->> 1), buckets -> (at + 1)
            FROM walk WHERE bucket IS NOT NULL
        )
        SELECT seconds / max(seen, 1.0) FROM walk WHERE at > 0 ORDER BY at DESC LIMIT 1)
    -- LIMIT keeps SQLite from extracting the histogram again for each bucket.
    FROM (SELECT part.*, name, result -> histogram AS buckets FROM part, mean LIMIT -1)
    UNION ALL
    SELECT campaign, cell, position, phase, cache, result, name, (
        SELECT 100.0 * total(iif(value ->> 0 > above, value ->> 1, 0)) / max(total(value ->> 1), 1.0)
        FROM json_each(result, '$.latency') HAVING count(*) > 0)
    FROM part, slow
)
SELECT campaign, cell, position, phase, name, unit, number.value, direction, cache
FROM number JOIN metric USING (name)
WHERE number.value IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(result, '$.stated') AS stated WHERE stated.value ->> 'metric' = name)
UNION ALL
SELECT campaign, cell, position, phase, name, unit, 1.0 * (stated.value ->> 'value'), direction, cache
FROM part, json_each(part.result, '$.stated') AS stated JOIN metric ON name = stated.value ->> 'metric';
