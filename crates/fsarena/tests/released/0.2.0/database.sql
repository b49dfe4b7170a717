PRAGMA application_id = 1718837618;
PRAGMA user_version = 7;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE campaign (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    started    INTEGER NOT NULL,
    profile    TEXT NOT NULL,
    backend    TEXT NOT NULL,
    definition TEXT NOT NULL CHECK (json_valid(definition))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
INSERT INTO campaign VALUES(1,'released',1796042548435556315,'smoke','dir','{"name":"released","contenders":[{"name":"a","filesystem":{"name":"ext4","title":"ext4","aliases":[],"driver":"kernel","facts":{"origin":{"system":"Linux","source":"ext4(5) of e2fsprogs"},"read_by":[{"system":"linux","writes":true,"source":"filesystems(5) of the Linux man-pages"},{"system":"freebsd","writes":true,"source":"ext2fs(4) of FreeBSD"}],"booted_by":[{"name":"GRUB","source":"GNU GRUB manual, Features"},{"name":"SYSLINUX","source":"Syslinux wiki, Filesystem (4.00 and later)"},{"name":"U-Boot","source":"U-Boot, fs/fs.c"}],"largest_file":{"size":"16 TiB with blocks of 4 KiB","source":"Linux Documentation/filesystems/ext4/blocks.rst"},"largest_volume":{"size":"1 EiB","source":"Oracle Linux 9, Managing Local File Systems, Maximum File and File System Size"},"license":{"name":"GPL-2.0-only","source":"COPYING of Linux"},"crash_recovery":{"by":"journal","lost_with":["^has_journal","-O^has_journal","barrier=0","nobarrier","noload","norecovery"],"source":"Linux Documentation/filesystems/ext4/journal.rst"},"snapshots":{"by":"none","source":"ext4(5) of e2fsprogs"},"promises":[{"keeps":"promise","unless":["barrier=0","nobarrier"],"source":"fsync(2); Linux Documentation/admin-guide/ext4.rst, barrier"},{"keeps":"replacement","unless":["noauto_da_alloc","data=writeback"],"source":"Linux Documentation/admin-guide/ext4.rst, auto_da_alloc"}],"power_cuts":{"cuts":231,"lost":0,"source":"suite survival, Linux 6.1.0-56-amd64, disk nvme-consumer, 2026-11-27"}},"source":"mke2fs(8), ext4(5), e2fsck(8) of e2fsprogs 1.47.0; tried on Debian 12, Linux 6.18","requires":{"kernel":"ext4","modules":["crc32c-intel","crc32c_generic","jbd2","mbcache","crc16","ext4"],"packages":["e2fsprogs"],"programs":["mke2fs","e2fsck","resize2fs","e4defrag"],"smallest":8388608,"largest":null},"commands":{"mkfs":["mke2fs","-q","-F","-t","ext4","{options}","{device}"],"mkfs_writes":{"bytes":33554432,"one_in":42},"mount":["mount","-i","-t","ext4","-o","{options}","{device}","{mountpoint}"],"umount":["umount","{mountpoint}"],"fsck":["e2fsck","-f","-n","{device}"],"fsck_clean":[0],"repair":["e2fsck","-p","{device}"],"repair_clean":[0,1],"mkfs_options":["-E","nodiscard,lazy_itable_init=0,lazy_journal_init=0"],"mount_options":[],"version":["mke2fs","-V"],"maintenance":{"mkfs-half":{"command":["mke2fs","-q","-F","-t","ext4","{options}","{device}","{half_kib}k"]},"grow":{"command":["resize2fs","{device}"],"sys_resource":true},"shrink":{"command":["resize2fs","-f","{device}","{half_kib}K"],"unmounted":true},"defragment":{"command":["e4defrag","{mountpoint}"]}}},"quirks":["Lazy initialisation of inode tables and journal is off (lazy_itable_init=0, lazy_journal_init=0): left on, a kernel thread writes them during the run. mkfs takes longer for it.","mke2fs uses only the last -E: a contender with another -E must repeat these options.","mke2fs runs with nodiscard."],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":"/var/tmp/formats-08LjJH/a"}],"suites":[{"name":"metadata","title":"Metadata: names, attributes and links, from several threads","source":"mdtest 4.0 (of IOR), with the file size of its hard case in IO500; ext4 and XFS tests of large directories (fs_mark, T. Ts''o, D. Chinner)","tests":[{"name":"metadata-deep","suite":"metadata","title":"Files at the bottom of deep directories","rationale":"Every path passes 32 nested directories before the file, and every call gets the whole path. The kernel caches the names on the path, so that it asks a filesystem only once. Filesystems that cannot use this cache, such as some user-space drivers, are asked repeatedly. The attributes start with cold caches. Nearly all of it is CPU.","space":8388608,"sweep":null,"phases":[{"name":"create-deep","cache":"warm","ends":"syncfs","at_most":null,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"create","set":"deep","kind":"file","entries":128,"directories":1,"depth":16,"size":0,"order":"random","fsync":false,"threads":1,"sharing":"shared"}},{"name":"stat-deep","cache":"cold","ends":"call","at_most":20000000,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"metadata","set":"deep","action":"stat","read":false,"order":"random","threads":1}},{"name":"open-deep","cache":"warm","ends":"call","at_most":20000000,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"metadata","set":"deep","action":"open","order":"random","threads":1}},{"name":"delete-deep","cache":"warm","ends":"syncfs","at_most":null,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"metadata","set":"deep","action":"remove","order":"random","threads":1}}]}]}],"profile":"smoke","rounds":1,"until":null,"seed":8,"size":536870912,"memory":null,"backend":"dir","clock":"real","guest":null,"device":null,"work_dir":"/var/tmp/formats-08LjJH","database":1725195487940597086,"stall_timeout":120000000000,"phase_limit":120000000000}',X'cd1c1ddd82633d8cf56ffa0212fa440d6f8fdc88f3e749b927001452a3aeddd2');
CREATE TABLE session (
    id          INTEGER PRIMARY KEY,
    campaign    INTEGER NOT NULL REFERENCES campaign (id),
    started     INTEGER NOT NULL,
    environment TEXT NOT NULL CHECK (json_valid(environment))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
INSERT INTO session VALUES(1,1,1796042548453933896,'{"program":"0.1.0","kernel":"Linux 6.18.44-fc-v857 #1 SMP PREEMPT_DYNAMIC @0 x86_64","distribution":"Debian GNU/Linux 12 (bookworm)","cpu":"AMD EPYC","cpus":2,"memory":25276059648,"memory_goes_back":true,"caches":[{"level":1,"kind":"data","size":32768},{"level":1,"kind":"instruction","size":32768},{"level":2,"kind":"unified","size":1048576},{"level":3,"kind":"unified","size":33554432}],"device":"/var/tmp/formats-08LjJH/a on ext4 on /dev/vda (256.0 GiB, rotating, cache write back)","attachment":"a directory of a mounted filesystem","conditions":[{"what":"directory a","value":"/var/tmp/formats-08LjJH/a on ext4 on /dev/vda (256.0 GiB, rotating, cache write back), options rw,relatime,discard,resv_strict,resuid=65534,resgid=65534"},{"what":"readahead of a","value":"8 MiB"},{"what":"I/O scheduler of a","value":"mq-deadline"},{"what":"host","value":"vm"},{"what":"dirty memory","value":"dirty_ratio 20, dirty_background_ratio 10, dirty_expire_centisecs 3000, dirty_writeback_centisecs 500"},{"what":"transparent huge pages","value":"madvise"},{"what":"cgroup","value":"/"},{"what":"virtual machine","value":"yes"}],"clock":"real time","tools":[{"program":"mke2fs","version":"mke2fs 1.47.0 (5-Feb-2023)"}]}',X'9f9ce05ca2d1a0428c7ba3490fc66cf47a5339d8abfb862e97798f237753ce2e');
CREATE TABLE planned_cell (
    campaign  INTEGER NOT NULL REFERENCES campaign (id),
    cell      INTEGER NOT NULL,
    contender TEXT NOT NULL,
    suite     TEXT NOT NULL,
    test      TEXT NOT NULL,
    round     INTEGER NOT NULL,
    seed      TEXT NOT NULL, digest BLOB CHECK (length(digest) = 32), -- decimal: 64 bits without sign do not fit an INTEGER
    PRIMARY KEY (campaign, cell),
    UNIQUE (campaign, contender, suite, test, round)
) STRICT, WITHOUT ROWID;
INSERT INTO planned_cell VALUES(1,0,'a','metadata','metadata-deep',1,'12484942831606905632',X'52bf6564720c704d1cc3db00ac73eb65743b9b5be500ff0f2c90c6c0ffc6e834');
CREATE TABLE cell (
    campaign INTEGER NOT NULL,
    cell     INTEGER NOT NULL,
    session  INTEGER NOT NULL REFERENCES session (id),
    status   TEXT NOT NULL,
    started  INTEGER NOT NULL,
    elapsed  INTEGER NOT NULL,
    result   TEXT NOT NULL CHECK (json_valid(result)), digest BLOB CHECK (length(digest) = 32),
    PRIMARY KEY (campaign, cell),
    FOREIGN KEY (campaign, cell) REFERENCES planned_cell (campaign, cell)
) STRICT;
INSERT INTO cell VALUES(1,0,1,'ok',1796042548555419101,155882374,'{"status":"ok","failure":null,"phases":[{"phase":"create-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"syncfs","wall":69177143,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":2355000,"system":0,"driver":0,"machine":140000000},"faults":{"minor":11,"major":0},"device":null,"space_before":{"total":270553174016,"free":242031730688,"available":69271851008,"inodes":16777216,"inodes_free":16321211},"space_after":{"total":270553174016,"free":242031730688,"available":69271851008,"inodes":16777216,"inodes_free":16321083},"device_size":null,"latency":[[10743,1],[10807,1],[10831,1],[10959,1],[11023,1],[11071,1],[11111,1],[11119,1],[11127,2],[11143,2],[11167,1],[11183,1],[11199,1],[11207,1],[11223,1],[11231,1],[11271,1],[11279,1],[11319,1],[11439,1],[11471,1],[11543,1],[11583,1],[11679,1],[11687,1],[11743,1],[11791,1],[11799,1],[11839,1],[11895,1],[11911,1],[12039,2],[12055,1],[12063,1],[12071,1],[12111,1],[12135,1],[12159,1],[12191,1],[12215,2],[12239,1],[12279,1],[12351,1],[12359,1],[12391,1],[12455,2],[12495,1],[12575,1],[12663,1],[12679,1],[12703,1],[12719,1],[12743,1],[12751,1],[12759,1],[12783,1],[12791,2],[12815,1],[12823,1],[12951,1],[12975,1],[13015,1],[13079,1],[13095,1],[13103,2],[13111,1],[13135,1],[13143,1],[13183,1],[13207,1],[13223,1],[13239,1],[13287,1],[13383,1],[13391,1],[13471,1],[13487,1],[13503,1],[13527,1],[13567,1],[13583,1],[13591,1],[13655,1],[13663,1],[13735,1],[13743,1],[13855,1],[13871,2],[13887,2],[13895,1],[13911,1],[13927,1],[13935,2],[14031,1],[14103,1],[14127,1],[14167,1],[14271,1],[14487,1],[14799,1],[15007,1],[15023,1],[15047,1],[15215,1],[15359,1],[15559,1],[15623,1],[15703,1],[15895,1],[15959,1],[17151,1],[17375,1],[17391,1],[17871,1],[18111,1],[19343,1],[21455,1],[59775,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"stat-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"advised","ends":"call","wall":1032696,"operations":384,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":360000,"system":678000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":{"total":270553174016,"free":242031730688,"available":69271851008,"inodes":16777216,"inodes_free":16321083},"space_after":{"total":270553174016,"free":242031730688,"available":69271851008,"inodes":16777216,"inodes_free":16321083},"device_size":null,"latency":[[2093,1],[2133,2],[2143,1],[2153,1],[2163,1],[2173,1],[2175,1],[2205,1],[2213,1],[2233,3],[2243,2],[2253,1],[2255,1],[2263,1],[2265,1],[2273,2],[2275,5],[2283,4],[2285,3],[2293,1],[2295,2],[2303,5],[2305,3],[2313,1],[2315,1],[2323,1],[2325,3],[2333,1],[2335,2],[2343,2],[2345,1],[2353,2],[2355,2],[2365,1],[2373,2],[2375,5],[2383,1],[2385,1],[2393,4],[2395,3],[2403,2],[2405,3],[2413,2],[2415,1],[2423,3],[2425,6],[2433,2],[2435,7],[2443,3],[2445,5],[2453,1],[2455,1],[2463,3],[2465,5],[2473,1],[2475,8],[2483,1],[2485,8],[2493,1],[2495,4],[2503,3],[2505,1],[2513,4],[2515,5],[2523,3],[2525,6],[2533,4],[2535,5],[2543,1],[2545,6],[2553,4],[2555,6],[2563,3],[2565,9],[2573,4],[2575,8],[2583,1],[2585,6],[2593,1],[2595,8],[2605,5],[2613,1],[2615,4],[2625,9],[2633,1],[2635,6],[2645,9],[2655,7],[2665,7],[2675,10],[2685,5],[2695,2],[2705,4],[2715,7],[2725,6],[2735,2],[2745,6],[2755,4],[2765,6],[2775,2],[2785,3],[2795,6],[2805,2],[2815,2],[2825,1],[2835,1],[2845,2],[2855,1],[2865,2],[2885,3],[2895,1],[2905,5],[2915,1],[2945,1],[2975,2],[3005,1],[3015,1],[3025,1],[3045,2],[3055,1],[3065,1],[3125,1],[3185,1],[3215,1],[3265,1],[3455,1],[3937,1],[11263,1],[15063,1],[16687,1]],"offered_rate":null,"verified":0,"passes":[{"wall":359405,"operations":128,"bytes":0},{"wall":332755,"operations":128,"bytes":0},{"wall":340536,"operations":128,"bytes":0}]},{"phase":"open-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"call","wall":1288555,"operations":384,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":430000,"system":861000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":{"total":270553174016,"free":242031730688,"available":69271851008,"inodes":16777216,"inodes_free":16321083},"space_after":{"total":270553174016,"free":242031730688,"available":69271851008,"inodes":16777216,"inodes_free":16321083},"device_size":null,"latency":[[3155,1],[3165,8],[3175,12],[3185,14],[3195,23],[3205,22],[3215,20],[3225,23],[3235,16],[3245,15],[3255,18],[3265,22],[3275,22],[3285,12],[3295,19],[3305,12],[3315,13],[3325,11],[3335,6],[3345,7],[3355,3],[3365,9],[3375,5],[3385,5],[3395,3],[3405,3],[3415,7],[3425,2],[3435,2],[3445,4],[3455,3],[3465,1],[3467,2],[3475,2],[3477,2],[3485,4],[3487,1],[3495,1],[3497,1],[3505,2],[3507,1],[3517,1],[3527,1],[3535,1],[3545,3],[3557,1],[3575,2],[3607,2],[3645,2],[3647,1],[3655,1],[3755,1],[3777,1],[3797,1],[3827,1],[3837,1],[3877,1],[3887,1],[7251,1],[7383,1],[9407,1]],"offered_rate":null,"verified":0,"passes":[{"wall":426634,"operations":128,"bytes":0},{"wall":433735,"operations":128,"bytes":0},{"wall":428186,"operations":128,"bytes":0}]},{"phase":"delete-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"syncfs","wall":56927549,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":2662000,"driver":0,"machine":130000000},"faults":{"minor":0,"major":0},"device":null,"space_before":{"total":270553174016,"free":242031730688,"available":69271851008,"inodes":16777216,"inodes_free":16321083},"space_after":{"total":270553174016,"free":242031792128,"available":69271912448,"inodes":16777216,"inodes_free":16321225},"device_size":null,"latency":[[6659,1],[6683,1],[6711,1],[6723,1],[6731,1],[6743,1],[6751,1],[6763,1],[6783,3],[6823,1],[6863,4],[6871,2],[6903,1],[6923,1],[6931,1],[6943,2],[6963,1],[6983,1],[7003,1],[7011,3],[7023,1],[7043,1],[7071,1],[7091,2],[7123,1],[7131,1],[7163,1],[7183,1],[7191,1],[7203,1],[7211,1],[7223,1],[7231,1],[7251,2],[7263,2],[7271,1],[7343,2],[7351,1],[7363,1],[7371,2],[7383,2],[7391,1],[7403,2],[7411,1],[7451,1],[7483,1],[7491,1],[7503,1],[7511,1],[7531,4],[7571,1],[7575,1],[7583,1],[7591,1],[7603,2],[7623,1],[7643,2],[7663,1],[7695,1],[7723,1],[7731,1],[7743,1],[7795,1],[7811,1],[7815,1],[7851,2],[7883,2],[7915,1],[7943,1],[7955,1],[8003,1],[8043,1],[8063,3],[8095,1],[8207,1],[8263,1],[8287,1],[8295,1],[8335,1],[8367,1],[8375,1],[8415,1],[8439,2],[8447,1],[8455,1],[8607,1],[8623,1],[8735,1],[8775,1],[8799,1],[8935,1],[9015,1],[9047,1],[9087,1],[9399,1],[9719,1],[9831,1],[10527,1],[11431,1],[42911,1],[46111,1],[4073471,1]],"offered_rate":null,"verified":0,"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":1796042548555419101,"elapsed":155882374,"from_cache":false,"remarks":[],"disturbance":{"processors":2,"elapsed":155698841,"others":251420000,"stolen":0,"pressure":{"cpu":54919000,"io":28805000,"memory":0}}}',X'ed906312d3e7589c691e2646566f7b3f5798afad826b52dd550e0930db8ed154');
CREATE TABLE calibration (
    campaign    INTEGER PRIMARY KEY REFERENCES campaign (id),
    taken       INTEGER NOT NULL,
    calibration TEXT NOT NULL CHECK (json_valid(calibration))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
INSERT INTO calibration VALUES(1,1796042548459435612,'{"taken":1796042548459435612,"elapsed":90182738,"overhead":{"operation":{"median":119.91762684878702,"least":45.501588742623696,"most":302.3866483824721,"repetitions":3},"clock":{"median":31.666125,"least":31.159676923076923,"most":225.02961904761906,"repetitions":3},"histogram":{"median":10.761940119760478,"least":2.6330315789473686,"most":11.321089552238805,"repetitions":3},"marking":{"median":142179016964.51315,"least":44122922479.64934,"most":144754284734.63303,"repetitions":3},"verification":{"median":34183440451.89346,"least":8021540864.011141,"most":34951542170.19716,"repetitions":3}},"raw_device":null,"device":"mounted directories show no device without a filesystem","disturbance":{"processors":2,"elapsed":90183030,"others":112800000,"stolen":0,"pressure":{"cpu":46343000,"io":0,"memory":0}}}',X'935cd8f68fa4223ddbb05eaaa0a9c05f5c7adceec03266019a8d768a65055630');
CREATE TABLE imported (
    campaign INTEGER PRIMARY KEY REFERENCES campaign (id),
    digest   BLOB NOT NULL CHECK (length(digest) = 32)
) STRICT;
CREATE TABLE upkeep (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO upkeep VALUES('closed',1796042548);
CREATE TRIGGER campaign_stays BEFORE UPDATE ON campaign BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER campaign_kept BEFORE DELETE ON campaign BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER session_stays BEFORE UPDATE ON session BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER session_kept BEFORE DELETE ON session BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER planned_cell_stays BEFORE UPDATE ON planned_cell BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER planned_cell_kept BEFORE DELETE ON planned_cell BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER cell_stays BEFORE UPDATE ON cell BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER cell_kept BEFORE DELETE ON cell BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER calibration_stays BEFORE UPDATE ON calibration BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER calibration_kept BEFORE DELETE ON calibration BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER campaign_once BEFORE INSERT ON campaign
WHEN EXISTS (SELECT 1 FROM campaign WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER session_once BEFORE INSERT ON session
WHEN EXISTS (SELECT 1 FROM session WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER planned_cell_once BEFORE INSERT ON planned_cell
WHEN EXISTS (SELECT 1 FROM planned_cell WHERE campaign = NEW.campaign AND cell = NEW.cell)
OR EXISTS (
    SELECT 1 FROM planned_cell
    WHERE campaign = NEW.campaign AND contender = NEW.contender AND suite = NEW.suite AND test = NEW.test
        AND round = NEW.round
)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER cell_once BEFORE INSERT ON cell
WHEN EXISTS (SELECT 1 FROM cell WHERE campaign = NEW.campaign AND cell = NEW.cell)
OR EXISTS (SELECT 1 FROM cell WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER calibration_once BEFORE INSERT ON calibration
WHEN EXISTS (SELECT 1 FROM calibration WHERE campaign = NEW.campaign)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER campaign_has_digest BEFORE INSERT ON campaign
WHEN NEW.digest IS NULL BEGIN SELECT RAISE(ABORT, 'a row needs its digest'); END;
CREATE TRIGGER session_has_digest BEFORE INSERT ON session
WHEN NEW.digest IS NULL BEGIN SELECT RAISE(ABORT, 'a row needs its digest'); END;
CREATE TRIGGER planned_cell_has_digest BEFORE INSERT ON planned_cell
WHEN NEW.digest IS NULL BEGIN SELECT RAISE(ABORT, 'a row needs its digest'); END;
CREATE TRIGGER cell_has_digest BEFORE INSERT ON cell
WHEN NEW.digest IS NULL BEGIN SELECT RAISE(ABORT, 'a row needs its digest'); END;
CREATE TRIGGER calibration_has_digest BEFORE INSERT ON calibration
WHEN NEW.digest IS NULL BEGIN SELECT RAISE(ABORT, 'a row needs its digest'); END;
CREATE INDEX session_of_campaign ON session (campaign);
CREATE TRIGGER imported_stays BEFORE UPDATE ON imported BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER imported_kept BEFORE DELETE ON imported BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER imported_once BEFORE INSERT ON imported
WHEN EXISTS (SELECT 1 FROM imported WHERE campaign = NEW.campaign)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE VIEW phase (campaign, cell, position, phase, status, cache) AS
SELECT campaign, cell, part.key, part.value ->> 'phase', part.value ->> 'status', part.value ->> 'cache'
FROM cell, json_each(result, '$.phases') AS part;
CREATE VIEW measurement
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
        1.0 * max(coalesce(json_array_length(each.value, '$.passes'), 0), 1) AS passes
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
FROM part, json_each(part.result, '$.stated') AS stated JOIN metric ON name = stated.value ->> 'metric'
;
COMMIT;
