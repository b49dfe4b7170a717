PRAGMA application_id = 1718837618;
PRAGMA user_version = 5;
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
INSERT INTO campaign VALUES(1,'aged',1795690509454581022,'smoke','loop','{"name":"aged","contenders":[{"name":"ext2","filesystem":{"name":"ext2","title":"ext2","aliases":[],"driver":"kernel","facts":{"origin":{"system":"Linux","source":"Linux Documentation/filesystems/ext2.rst"},"read_by":[{"system":"linux","writes":true,"source":"filesystems(5) of the Linux man-pages"},{"system":"freebsd","writes":true,"source":"ext2fs(4) of FreeBSD"},{"system":"netbsd","writes":true,"source":"mount_ext2fs(8) of NetBSD"},{"system":"openbsd","writes":true,"source":"mount_ext2fs(8) of OpenBSD"},{"system":"haiku","writes":false,"source":"Haiku, build/jam/images/definitions/minimum"}],"booted_by":[{"name":"GRUB","source":"GNU GRUB manual, Features"},{"name":"SYSLINUX","source":"Syslinux wiki, Filesystem (3.00 and later)"}],"largest_file":{"size":"2 TiB with blocks of 4 KiB","source":"Linux Documentation/filesystems/ext2.rst"},"largest_volume":{"size":"16 TiB with blocks of 4 KiB","source":"Linux Documentation/filesystems/ext2.rst"}},"source":"mke2fs(8), ext2(5), e2fsck(8) of e2fsprogs 1.47.0; tried on Debian 12, Linux 6.18","requires":{"kernel":"ext2","modules":["crc32c-intel","crc32c_generic","jbd2","mbcache","crc16","ext4"],"packages":["e2fsprogs"],"programs":["mke2fs","e2fsck"],"smallest":1048576,"largest":null},"commands":{"mkfs":["mke2fs","-q","-F","-t","ext2","{options}","{device}"],"mkfs_writes":{"bytes":8388608,"one_in":64},"mount":["mount","-i","-t","ext2","-o","{options}","{device}","{mountpoint}"],"umount":["umount","{mountpoint}"],"fsck":["e2fsck","-f","-n","{device}"],"fsck_clean":[0],"mkfs_options":["-E","nodiscard,lazy_itable_init=0"],"mount_options":[],"version":["mke2fs","-V"]},"quirks":["Lazy initialisation of inode tables is off (lazy_itable_init=0): left on, a kernel thread writes them during the run. mkfs takes longer for it.","mke2fs heeds only the last -E: a contender with an -E of its own has to repeat these words.","mke2fs is told not to discard.","No journal: after a crash only fsck makes it whole.","Driven by the kernel''s ext4 code where the kernel is built without the old ext2 driver."],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":null},{"name":"ext2-aged","filesystem":{"name":"ext2","title":"ext2","aliases":[],"driver":"kernel","facts":{"origin":{"system":"Linux","source":"Linux Documentation/filesystems/ext2.rst"},"read_by":[{"system":"linux","writes":true,"source":"filesystems(5) of the Linux man-pages"},{"system":"freebsd","writes":true,"source":"ext2fs(4) of FreeBSD"},{"system":"netbsd","writes":true,"source":"mount_ext2fs(8) of NetBSD"},{"system":"openbsd","writes":true,"source":"mount_ext2fs(8) of OpenBSD"},{"system":"haiku","writes":false,"source":"Haiku, build/jam/images/definitions/minimum"}],"booted_by":[{"name":"GRUB","source":"GNU GRUB manual, Features"},{"name":"SYSLINUX","source":"Syslinux wiki, Filesystem (3.00 and later)"}],"largest_file":{"size":"2 TiB with blocks of 4 KiB","source":"Linux Documentation/filesystems/ext2.rst"},"largest_volume":{"size":"16 TiB with blocks of 4 KiB","source":"Linux Documentation/filesystems/ext2.rst"}},"source":"mke2fs(8), ext2(5), e2fsck(8) of e2fsprogs 1.47.0; tried on Debian 12, Linux 6.18","requires":{"kernel":"ext2","modules":["crc32c-intel","crc32c_generic","jbd2","mbcache","crc16","ext4"],"packages":["e2fsprogs"],"programs":["mke2fs","e2fsck"],"smallest":1048576,"largest":null},"commands":{"mkfs":["mke2fs","-q","-F","-t","ext2","{options}","{device}"],"mkfs_writes":{"bytes":8388608,"one_in":64},"mount":["mount","-i","-t","ext2","-o","{options}","{device}","{mountpoint}"],"umount":["umount","{mountpoint}"],"fsck":["e2fsck","-f","-n","{device}"],"fsck_clean":[0],"mkfs_options":["-E","nodiscard,lazy_itable_init=0"],"mount_options":[],"version":["mke2fs","-V"]},"quirks":["Lazy initialisation of inode tables is off (lazy_itable_init=0): left on, a kernel thread writes them during the run. mkfs takes longer for it.","mke2fs heeds only the last -E: a contender with an -E of its own has to repeat these words.","mke2fs is told not to discard.","No journal: after a crash only fsck makes it whole.","Driven by the kernel''s ext4 code where the kernel is built without the old ext2 driver."],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":null,"own":{"age":{"profile":{"name":"git-history","title":"A source tree that follows its project, pull after pull","source":"The way of ageing: Conway et al., File Systems Fated for Senescence? Nonsense, Says Science!, FAST 2017, whose pulls rewrite files of a working tree. Sizes, depths and ages (commits since a file was last changed, as shares of all) were measured for fsarena in the history of git itself (github.com/git/git at 1a3e64c6c4a6, 60,751 commits without merges, 2.27 files changed by each): a batch is a pull of 100 commits. What git keeps below .git is left out. Turnover is fsarena''s own","churn":"rewrite","turnover":3,"batch":227,"sizes":[{"up_to":32,"weight":92},{"up_to":128,"weight":384},{"up_to":512,"weight":839},{"up_to":1024,"weight":626},{"up_to":2048,"weight":651},{"up_to":4096,"weight":717},{"up_to":8192,"weight":578},{"up_to":16384,"weight":418},{"up_to":32768,"weight":312},{"up_to":65536,"weight":141},{"up_to":131072,"weight":56},{"up_to":262144,"weight":11},{"up_to":524288,"weight":2},{"up_to":1048576,"weight":18},{"up_to":2097152,"weight":1}],"ages":[{"up_to":1,"weight":62},{"up_to":2,"weight":101},{"up_to":4,"weight":96},{"up_to":8,"weight":561},{"up_to":16,"weight":268},{"up_to":32,"weight":316},{"up_to":64,"weight":497},{"up_to":128,"weight":1670},{"up_to":256,"weight":414},{"up_to":512,"weight":311},{"up_to":1024,"weight":449}],"depths":[{"depth":1,"directories":1,"weight":530},{"depth":2,"directories":32,"weight":1864},{"depth":3,"directories":118,"weight":2215},{"depth":4,"directories":47,"weight":179},{"depth":5,"directories":16,"weight":36},{"depth":6,"directories":6,"weight":18},{"depth":7,"directories":5,"weight":4},{"depth":8,"directories":1,"weight":1}]},"fill":100}}}],"suites":[{"name":"metadata","title":"Metadata: names, attributes and links, from several threads","source":"mdtest 4.0 (of IOR), with the file size of its hard case in IO500; ext4 and XFS tests of large directories (fs_mark, T. Ts''o, D. Chinner)","tests":[{"name":"metadata-deep","suite":"metadata","title":"Files at the bottom of deep directories","rationale":"Every path leads through 32 directories inside each other before it comes to the file, and every call is given the whole path. The kernel remembers the names on the way, so a filesystem is asked for them only once; one that cannot trust that memory, as some drivers in user space, is asked again and again. The attributes begin with cold caches. Nearly all of it is CPU.","space":8388608,"sweep":null,"phases":[{"name":"create-deep","cache":"warm","ends":"syncfs","at_most":null,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"create","set":"deep","kind":"file","entries":128,"directories":1,"depth":16,"size":0,"order":"random","fsync":false,"threads":1,"sharing":"shared"}},{"name":"stat-deep","cache":"cold","ends":"call","at_most":20000000,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"metadata","set":"deep","action":"stat","read":false,"order":"random","threads":1}},{"name":"open-deep","cache":"warm","ends":"call","at_most":20000000,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"metadata","set":"deep","action":"open","order":"random","threads":1}},{"name":"delete-deep","cache":"warm","ends":"syncfs","at_most":null,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"metadata","set":"deep","action":"remove","order":"random","threads":1}}]}]}],"profile":"smoke","rounds":1,"until":null,"seed":10,"size":50331648,"memory":null,"backend":"loop","clock":"real","guest":null,"readahead":131072,"device":null,"work_dir":"/var/tmp/old-databases-m1mqK0","stall_timeout":120000000000,"phase_limit":120000000000}',X'5709b1ca220f321847a6dfae644d729edc25fd09bcb5590eda89dbd132271863');
CREATE TABLE session (
    id          INTEGER PRIMARY KEY,
    campaign    INTEGER NOT NULL REFERENCES campaign (id),
    started     INTEGER NOT NULL,
    environment TEXT NOT NULL CHECK (json_valid(environment))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
INSERT INTO session VALUES(1,1,1795690509615220763,'{"program":"0.1.0","kernel":"Linux 6.18.44-fc-v657 #1 SMP PREEMPT_DYNAMIC @0 x86_64","distribution":"Debian GNU/Linux 12 (bookworm)","cpu":"Intel(R) Xeon(R) Processor","cpus":2,"memory":25325268992,"memory_goes_back":true,"caches":[{"level":1,"kind":"data","size":49152},{"level":1,"kind":"instruction","size":32768},{"level":2,"kind":"unified","size":2097152},{"level":3,"kind":"unified","size":314572800}],"device":"image of 48 MiB: /var/tmp/old-databases-m1mqK0/fsarena-1-a/image-0 on ext4 on /dev/vda (256.0 GiB, rotating, cache write back)","attachment":"loop device, direct I/O, no discards","conditions":[{"what":"readahead","value":"128 KiB"},{"what":"I/O scheduler","value":"none"},{"what":"dirty memory","value":"dirty_ratio 20, dirty_background_ratio 10, dirty_expire_centisecs 3000, dirty_writeback_centisecs 500"},{"what":"transparent huge pages","value":"madvise"},{"what":"cgroup","value":"/"},{"what":"virtual machine","value":"yes"}],"clock":"real time","tools":[{"program":"mke2fs","version":"mke2fs 1.47.0 (5-Feb-2023)"}]}',X'9c327f4890eed09b02f5682c898e8c4635006090241f4c273ba97242e13b85cc');
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
INSERT INTO planned_cell VALUES(1,0,'ext2','metadata','metadata-deep',1,'3574878893499780336',X'433598c2f08d83e04304bf5cb7bebfd714a25cbb3cc4576ff78468a74c26f403');
INSERT INTO planned_cell VALUES(1,1,'ext2-aged','metadata','metadata-deep',1,'3574878893499780336',X'f5c8cd37b724ea037859d723ab61665fdb755a92fd97fc9569a577be891ad8fb');
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
INSERT INTO cell VALUES(1,0,1,'ok',1795690510007106774,265405824,'{"status":"ok","failure":null,"phases":[{"phase":"create-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"syncfs","wall":2765464,"operations":384,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":2192000,"driver":0,"machine":10000000},"faults":{"minor":1,"major":0},"device":{"reads":0,"read_bytes":0,"writes":18,"write_bytes":188416,"flushes":3,"discards":0,"discard_bytes":0},"space_before":{"total":46382080,"free":46351360,"available":43835392,"inodes":12288,"inodes_free":12261},"space_after":{"total":46382080,"free":46347264,"available":43831296,"inodes":12288,"inodes_free":12133},"device_size":50331648,"latency":[[3475,1],[3491,1],[3517,1],[3529,1],[3581,1],[3583,1],[3585,1],[3611,1],[3649,1],[3675,1],[3693,1],[3709,1],[3721,1],[3727,1],[3733,1],[3747,1],[3753,1],[3771,1],[3781,1],[3783,2],[3797,2],[3825,1],[3845,1],[3867,1],[3869,1],[3875,1],[3877,1],[3899,1],[3903,1],[3911,1],[3917,1],[3929,1],[3933,1],[3939,1],[3949,2],[3959,1],[3967,1],[3973,1],[3975,1],[3977,1],[3987,1],[3989,1],[4011,1],[4021,2],[4023,1],[4029,2],[4041,1],[4047,1],[4049,1],[4051,1],[4061,1],[4063,1],[4067,1],[4081,2],[4083,1],[4085,1],[4087,1],[4089,1],[4091,1],[4099,2],[4103,5],[4111,2],[4115,1],[4131,2],[4143,1],[4151,3],[4155,2],[4159,2],[4167,3],[4171,1],[4175,1],[4179,2],[4183,1],[4187,1],[4195,1],[4199,3],[4203,3],[4207,2],[4211,2],[4215,2],[4219,1],[4223,1],[4227,1],[4231,2],[4235,2],[4239,1],[4243,2],[4247,3],[4255,1],[4259,1],[4263,1],[4271,1],[4275,2],[4279,2],[4283,1],[4291,3],[4295,1],[4299,1],[4307,2],[4311,3],[4315,1],[4319,1],[4323,1],[4327,1],[4331,1],[4335,4],[4339,3],[4343,1],[4347,1],[4351,4],[4355,6],[4359,3],[4363,1],[4367,1],[4371,3],[4375,1],[4379,5],[4383,2],[4391,1],[4407,1],[4415,3],[4419,2],[4423,1],[4427,2],[4431,1],[4439,2],[4443,2],[4451,2],[4455,3],[4463,3],[4467,2],[4475,1],[4479,1],[4483,3],[4487,2],[4491,2],[4495,1],[4499,1],[4503,1],[4507,4],[4515,1],[4539,1],[4547,3],[4555,2],[4559,2],[4567,2],[4583,2],[4591,2],[4595,3],[4599,1],[4607,1],[4619,1],[4623,2],[4627,1],[4635,1],[4639,1],[4659,1],[4667,1],[4679,1],[4683,2],[4691,3],[4711,1],[4715,1],[4719,2],[4723,3],[4731,2],[4739,2],[4751,1],[4755,1],[4771,2],[4775,1],[4795,1],[4807,1],[4811,1],[4819,1],[4823,1],[4843,1],[4859,1],[4871,1],[4883,1],[4903,1],[4907,1],[4911,1],[4919,1],[4951,1],[4955,1],[4971,2],[5003,2],[5043,1],[5067,1],[5107,1],[5111,1],[5115,1],[5123,1],[5135,2],[5139,1],[5179,1],[5231,2],[5415,1],[5475,1],[5579,1],[5683,1],[5743,1],[5771,1],[5827,1],[5843,1],[5915,1],[5919,1],[6027,1],[6083,1],[6335,3],[6371,1],[6399,1],[6403,2],[6443,1],[6483,1],[6511,1],[6587,1],[6591,1],[6607,1],[6667,1],[6715,1],[6739,1],[6787,1],[6835,1],[6895,1],[6923,1],[7007,1],[7015,1],[7059,1],[7171,1],[7223,1],[7239,1],[7295,1],[7311,1],[7395,1],[7431,1],[7483,1],[7487,1],[7539,2],[7595,1],[7735,2],[7783,1],[7851,1],[7927,1],[7951,1],[7971,1],[8007,1],[8303,1],[8375,1],[8383,1],[8855,1],[8919,1],[9015,1],[9071,1],[9127,1],[9887,1],[9935,1],[10247,1],[10343,1],[10447,1],[10599,1],[10631,1],[10839,1],[10911,1],[11375,1],[11615,1],[11823,1],[13951,1],[14311,1],[14511,1],[15279,1],[16639,1],[18831,1],[19775,1],[44607,1]],"offered_rate":null,"verified":0,"passes":[{"wall":919162,"operations":128,"bytes":0},{"wall":735871,"operations":128,"bytes":0},{"wall":1110431,"operations":128,"bytes":0}]},{"phase":"stat-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"cold","ends":"call","wall":1211727,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":568000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":{"reads":23,"read_bytes":50176,"writes":0,"write_bytes":0,"flushes":0,"discards":0,"discard_bytes":0},"space_before":{"total":46382080,"free":46347264,"available":43831296,"inodes":12288,"inodes_free":12133},"space_after":{"total":46382080,"free":46347264,"available":43831296,"inodes":12288,"inodes_free":12133},"device_size":50331648,"latency":[[2451,1],[2469,1],[2551,1],[2571,1],[2607,1],[2617,1],[2639,1],[2655,1],[2665,1],[2693,2],[2701,1],[2705,1],[2711,1],[2717,1],[2723,1],[2727,1],[2765,1],[2777,1],[2779,1],[2795,1],[2811,1],[2813,1],[2815,1],[2821,1],[2825,3],[2829,1],[2837,1],[2839,1],[2841,3],[2847,1],[2853,1],[2867,1],[2871,1],[2891,1],[2893,1],[2895,1],[2897,1],[2901,1],[2905,1],[2911,1],[2923,3],[2931,1],[2933,1],[2961,1],[2965,1],[2967,2],[2979,1],[2987,1],[3001,1],[3023,1],[3033,1],[3037,1],[3039,1],[3053,1],[3061,1],[3071,1],[3095,1],[3121,1],[3141,1],[3159,1],[3161,1],[3163,1],[3165,2],[3175,1],[3181,1],[3185,1],[3187,1],[3189,1],[3197,1],[3199,1],[3215,1],[3219,1],[3221,1],[3227,1],[3241,1],[3247,1],[3263,1],[3265,1],[3281,1],[3297,1],[3317,1],[3321,1],[3333,1],[3363,1],[3369,1],[3387,1],[3409,1],[3413,1],[3425,1],[3427,1],[3465,1],[3473,1],[3493,1],[3505,1],[3543,1],[3575,1],[3587,1],[3593,1],[3605,1],[3635,1],[3639,1],[3689,1],[3709,1],[3775,1],[3935,1],[3971,1],[4009,1],[4017,1],[4071,1],[4123,1],[4151,1],[4763,1],[5507,1],[7927,1],[32127,1],[32959,1],[35519,1],[100479,1],[613887,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"open-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"call","wall":1108627,"operations":768,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":1113000,"driver":0,"machine":10000000},"faults":{"minor":0,"major":0},"device":{"reads":0,"read_bytes":0,"writes":0,"write_bytes":0,"flushes":0,"discards":0,"discard_bytes":0},"space_before":{"total":46382080,"free":46347264,"available":43831296,"inodes":12288,"inodes_free":12133},"space_after":{"total":46382080,"free":46347264,"available":43831296,"inodes":12288,"inodes_free":12133},"device_size":50331648,"latency":[[1321,1],[1322,2],[1323,2],[1324,1],[1326,1],[1327,1],[1328,1],[1329,4],[1330,2],[1331,4],[1332,4],[1333,4],[1334,7],[1335,7],[1336,1],[1337,3],[1338,5],[1339,5],[1340,10],[1341,5],[1342,3],[1343,9],[1344,3],[1345,8],[1346,8],[1347,3],[1348,5],[1349,6],[1350,8],[1351,10],[1352,4],[1353,7],[1354,7],[1355,5],[1356,5],[1357,6],[1358,11],[1359,8],[1360,15],[1361,7],[1362,9],[1363,12],[1364,18],[1365,9],[1366,7],[1367,13],[1368,6],[1369,10],[1370,10],[1371,11],[1372,5],[1373,13],[1374,5],[1375,7],[1376,7],[1377,7],[1378,14],[1379,3],[1380,5],[1381,10],[1382,9],[1383,6],[1384,6],[1385,6],[1386,8],[1387,14],[1388,11],[1389,3],[1390,3],[1391,8],[1392,12],[1393,6],[1394,5],[1395,5],[1396,4],[1397,3],[1398,4],[1399,3],[1400,9],[1401,4],[1402,6],[1403,7],[1404,4],[1405,5],[1406,8],[1407,8],[1408,13],[1409,9],[1410,1],[1411,2],[1413,5],[1414,6],[1415,1],[1416,3],[1417,2],[1418,2],[1419,4],[1420,2],[1421,2],[1422,4],[1423,2],[1424,2],[1425,2],[1426,1],[1427,4],[1428,1],[1429,4],[1430,1],[1431,2],[1432,4],[1433,1],[1434,3],[1435,1],[1436,2],[1437,2],[1438,1],[1439,2],[1440,4],[1441,2],[1442,1],[1443,2],[1444,1],[1445,2],[1446,1],[1447,1],[1448,1],[1449,2],[1450,4],[1451,1],[1452,1],[1454,1],[1455,2],[1457,1],[1458,3],[1459,1],[1460,1],[1461,1],[1462,3],[1463,1],[1464,2],[1465,1],[1466,1],[1467,1],[1468,2],[1469,2],[1474,1],[1475,4],[1477,1],[1478,1],[1480,3],[1482,1],[1483,1],[1484,1],[1485,2],[1486,1],[1488,1],[1489,1],[1490,1],[1491,1],[1495,3],[1496,1],[1497,3],[1500,1],[1502,1],[1503,1],[1509,1],[1515,3],[1516,1],[1517,1],[1521,1],[1522,3],[1524,1],[1528,1],[1531,1],[1532,3],[1543,1],[1545,2],[1547,1],[1554,1],[1558,1],[1566,1],[1578,1],[1583,1],[1591,1],[1596,1],[1602,1],[1609,1],[1618,2],[1621,1],[1625,1],[1660,1],[1666,1],[1667,1],[1673,1],[1727,1],[2011,1],[2022,1],[2075,1],[2401,1],[2581,1],[2639,1],[24735,1]],"offered_rate":null,"verified":0,"passes":[{"wall":216700,"operations":128,"bytes":0},{"wall":179051,"operations":128,"bytes":0},{"wall":178550,"operations":128,"bytes":0},{"wall":179151,"operations":128,"bytes":0},{"wall":177030,"operations":128,"bytes":0},{"wall":178145,"operations":128,"bytes":0}]},{"phase":"delete-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"syncfs","wall":2032315,"operations":384,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":1705000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":{"reads":3,"read_bytes":3072,"writes":15,"write_bytes":125952,"flushes":3,"discards":0,"discard_bytes":0},"space_before":{"total":46382080,"free":46347264,"available":43831296,"inodes":12288,"inodes_free":12133},"space_after":{"total":46382080,"free":46367744,"available":43851776,"inodes":12288,"inodes_free":12277},"device_size":50331648,"latency":[[2673,1],[2681,1],[2699,1],[2723,1],[2741,1],[2763,1],[2769,1],[2773,1],[2775,1],[2779,1],[2781,1],[2785,1],[2787,1],[2789,1],[2791,1],[2799,1],[2811,1],[2817,1],[2819,2],[2825,1],[2827,1],[2829,2],[2831,1],[2835,1],[2837,1],[2841,2],[2843,1],[2845,2],[2847,1],[2849,1],[2855,1],[2857,2],[2859,1],[2861,1],[2863,1],[2871,2],[2873,1],[2875,1],[2877,1],[2879,1],[2881,2],[2883,1],[2885,2],[2887,1],[2889,1],[2893,5],[2897,1],[2899,3],[2903,2],[2905,2],[2907,3],[2911,2],[2913,2],[2925,2],[2927,3],[2931,3],[2935,3],[2937,2],[2939,3],[2941,2],[2945,1],[2947,1],[2951,2],[2953,3],[2955,2],[2957,1],[2963,1],[2971,1],[2973,2],[2975,1],[2977,1],[2979,2],[2981,1],[2983,1],[2985,1],[2987,1],[2989,3],[2991,1],[2993,2],[2995,2],[2997,2],[2999,1],[3001,2],[3003,1],[3005,2],[3007,2],[3009,1],[3015,1],[3017,1],[3019,2],[3021,3],[3023,1],[3025,3],[3027,2],[3029,1],[3031,1],[3033,4],[3035,2],[3037,3],[3039,1],[3041,2],[3043,1],[3045,2],[3047,1],[3051,1],[3053,3],[3055,1],[3057,1],[3059,3],[3061,3],[3063,3],[3065,2],[3067,2],[3069,2],[3071,6],[3073,3],[3075,2],[3077,1],[3079,3],[3081,3],[3083,4],[3085,1],[3087,1],[3089,4],[3091,2],[3097,2],[3099,1],[3101,4],[3103,1],[3105,3],[3109,1],[3111,2],[3113,1],[3119,1],[3121,2],[3125,1],[3129,1],[3131,2],[3133,2],[3137,2],[3141,1],[3143,1],[3147,2],[3151,1],[3153,2],[3155,2],[3157,2],[3159,4],[3161,1],[3163,1],[3165,4],[3167,1],[3171,1],[3173,3],[3175,1],[3177,2],[3181,2],[3183,1],[3189,1],[3191,1],[3193,1],[3195,3],[3197,2],[3205,1],[3207,2],[3209,3],[3213,2],[3215,2],[3221,2],[3225,1],[3229,1],[3231,1],[3233,1],[3237,1],[3239,2],[3245,1],[3247,1],[3249,2],[3253,2],[3259,2],[3267,1],[3269,1],[3273,1],[3275,1],[3277,1],[3287,1],[3289,1],[3295,1],[3297,1],[3301,1],[3303,3],[3307,1],[3313,2],[3317,1],[3331,1],[3343,2],[3363,1],[3367,1],[3383,1],[3399,1],[3409,1],[3415,1],[3453,1],[3459,1],[3463,1],[3467,1],[3473,1],[3501,1],[3513,1],[3525,1],[3533,1],[3585,1],[3587,2],[3637,1],[3683,1],[3725,1],[3735,1],[3799,1],[3907,1],[4063,1],[4123,1],[4131,1],[4155,1],[4199,1],[4219,1],[4223,1],[4287,1],[4299,1],[4339,1],[4431,1],[4439,1],[4467,2],[4591,1],[4615,1],[4627,1],[4631,1],[4727,1],[4743,1],[4795,1],[4887,1],[4959,1],[4983,1],[5655,1],[5799,1],[6023,1],[6083,1],[6647,1],[8679,1],[10871,1],[13191,1],[79999,1]],"offered_rate":null,"verified":0,"passes":[{"wall":789161,"operations":128,"bytes":0},{"wall":591642,"operations":128,"bytes":0},{"wall":651512,"operations":128,"bytes":0}]}],"steps":[{"step":"mkfs","command":["mke2fs","-q","-F","-t","ext2","-E","nodiscard,lazy_itable_init=0","/dev/loop8"],"exit":0,"signal":null,"elapsed":44593913,"output":""},{"step":"mount","command":["mount","-i","-t","ext2","-o","nosuid,nodev","/dev/loop8","/var/tmp/old-databases-m1mqK0/fsarena-1-a/mnt"],"exit":0,"signal":null,"elapsed":6827483,"output":""},{"step":"umount","command":["umount","/var/tmp/old-databases-m1mqK0/fsarena-1-a/mnt"],"exit":0,"signal":null,"elapsed":2920793,"output":""},{"step":"mount","command":["mount","-i","-t","ext2","-o","nosuid,nodev","/dev/loop8","/var/tmp/old-databases-m1mqK0/fsarena-1-a/mnt"],"exit":0,"signal":null,"elapsed":18413013,"output":""},{"step":"umount","command":["umount","/var/tmp/old-databases-m1mqK0/fsarena-1-a/mnt"],"exit":0,"signal":null,"elapsed":13992550,"output":""},{"step":"fsck","command":["e2fsck","-f","-n","/dev/loop8"],"exit":0,"signal":null,"elapsed":66640060,"output":"e2fsck 1.47.0 (5-Feb-2023)\nPass 1: Checking inodes, blocks, and sizes\nPass 2: Checking directory structure\nPass 3: Checking directory connectivity\nPass 4: Checking reference counts\nPass 5: Checking group summary information\n/dev/loop8: 11/12288 files (0.0% non-contiguous), 3871/49152 blocks"}],"features":{},"kernel_log":[{"title":"<6> EXT4-fs (loop8): mounting ext2 file system using the ext4 subsystem","lines":["<6> EXT4-fs (loop8): mounting ext2 file system using the ext4 subsystem","<6> EXT4-fs (loop8): mounted filesystem 14047139-9541-4775-803b-01f43ac68fca r/w without journal. Quota mode: none.","<6> EXT4-fs (loop8): unmounting filesystem 14047139-9541-4775-803b-01f43ac68fca."],"concern":"cell"},{"title":"<6> exe (1701): drop_caches: 3","lines":["<6> exe (1701): drop_caches: 3"],"concern":"unknown"},{"title":"<6> EXT4-fs (loop8): mounting ext2 file system using the ext4 subsystem","lines":["<6> EXT4-fs (loop8): mounting ext2 file system using the ext4 subsystem","<6> EXT4-fs (loop8): mounted filesystem 14047139-9541-4775-803b-01f43ac68fca r/w without journal. Quota mode: none.","<6> EXT4-fs (loop8): unmounting filesystem 14047139-9541-4775-803b-01f43ac68fca."],"concern":"cell"}],"kernel_log_readable":true,"started":1795690510007106774,"elapsed":265405824,"from_cache":false,"remarks":[],"disturbance":{"processors":2,"elapsed":265285801,"others":327199000,"stolen":0,"pressure":{"cpu":116158000,"io":49477000,"memory":0}}}',X'49534340f62d00a687f31ca2f00559f097a94a1e7882d62963261b2dbb298a4f');
INSERT INTO cell VALUES(1,1,1,'ok',1795690510359153571,781325887,'{"status":"ok","failure":null,"phases":[{"phase":"create-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"syncfs","wall":19555579,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":1196000,"driver":0,"machine":20000000},"faults":{"minor":0,"major":0},"device":{"reads":0,"read_bytes":0,"writes":6,"write_bytes":63488,"flushes":1,"discards":0,"discard_bytes":0},"space_before":{"total":46382080,"free":42052608,"available":39536640,"inodes":12288,"inodes_free":11500},"space_after":{"total":46382080,"free":42048512,"available":39532544,"inodes":12288,"inodes_free":11372},"device_size":50331648,"latency":[[6163,1],[6599,1],[6635,1],[6659,1],[6707,1],[6723,1],[6747,2],[6759,1],[6767,2],[6835,1],[6887,2],[6959,1],[7051,1],[7091,1],[7151,1],[7155,1],[7195,1],[7215,1],[7243,1],[7255,1],[7275,1],[7291,1],[7315,2],[7335,1],[7399,1],[7403,1],[7407,1],[7411,1],[7415,1],[7455,1],[7483,1],[7487,1],[7495,1],[7499,1],[7503,1],[7507,1],[7523,1],[7527,1],[7531,1],[7551,1],[7555,1],[7563,1],[7571,1],[7599,2],[7607,1],[7615,1],[7627,1],[7635,1],[7643,1],[7647,1],[7655,1],[7659,1],[7671,1],[7683,1],[7687,1],[7711,2],[7715,2],[7731,1],[7735,1],[7759,2],[7775,2],[7803,1],[7807,1],[7851,1],[7867,1],[7915,1],[7939,1],[7943,3],[7955,1],[7983,2],[7995,1],[8011,1],[8059,1],[8079,2],[8087,1],[8095,1],[8143,1],[8159,1],[8207,1],[8247,1],[8295,2],[8319,1],[8343,1],[8359,1],[8383,1],[8423,1],[8439,1],[8463,1],[8487,1],[8503,2],[8551,1],[8559,1],[8631,1],[8935,1],[9175,1],[9255,1],[9271,1],[9647,1],[10295,1],[10319,1],[10455,1],[10583,1],[10799,1],[11535,1],[11791,1],[12023,1],[14959,1],[15335,1],[18047,1],[18159,1],[19775,1],[20591,1],[30319,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"stat-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"cold","ends":"call","wall":34300129,"operations":1,"bytes":0,"bytes_written":0,"cut_short":true,"cpu":{"user":30000,"system":501000,"driver":0,"machine":50000000},"faults":{"minor":4,"major":0},"device":{"reads":17,"read_bytes":17408,"writes":0,"write_bytes":0,"flushes":0,"discards":0,"discard_bytes":0},"space_before":{"total":46382080,"free":42048512,"available":39532544,"inodes":12288,"inodes_free":11372},"space_after":{"total":46382080,"free":42048512,"available":39532544,"inodes":12288,"inodes_free":11372},"device_size":50331648,"latency":[[34308095,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"open-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"call","wall":2282009,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":50000,"system":835000,"driver":0,"machine":10000000},"faults":{"minor":0,"major":0},"device":{"reads":6,"read_bytes":32768,"writes":0,"write_bytes":0,"flushes":0,"discards":0,"discard_bytes":0},"space_before":{"total":46382080,"free":42048512,"available":39532544,"inodes":12288,"inodes_free":11372},"space_after":{"total":46382080,"free":42048512,"available":39532544,"inodes":12288,"inodes_free":11372},"device_size":50331648,"latency":[[3065,1],[3127,1],[3181,1],[3253,2],[3269,1],[3373,1],[3405,1],[3481,1],[3535,1],[3537,1],[3567,1],[3573,1],[3607,1],[3651,2],[3691,1],[3697,1],[3721,1],[3785,1],[3865,1],[3901,1],[3911,1],[3947,1],[4057,1],[4067,1],[4103,1],[4139,1],[4207,1],[4255,1],[4259,1],[4291,1],[4299,1],[4303,1],[4307,1],[4379,1],[4415,1],[4503,1],[4531,1],[4535,1],[4547,1],[4611,2],[4615,1],[4659,1],[4663,1],[4687,1],[4743,1],[4775,1],[4807,2],[4819,1],[4823,1],[4867,1],[4871,1],[4899,1],[4919,2],[4927,1],[4963,1],[4975,1],[5003,1],[5083,1],[5087,1],[5095,1],[5119,1],[5155,1],[5195,1],[5223,1],[5239,1],[5259,1],[5291,1],[5303,1],[5315,1],[5339,1],[5367,1],[5371,1],[5403,1],[5419,1],[5475,1],[5491,1],[5519,1],[5527,1],[5539,1],[5547,2],[5575,2],[5623,1],[5627,1],[5663,1],[5731,1],[5775,1],[5783,1],[5807,1],[5831,1],[5835,1],[5843,1],[5895,1],[5903,1],[5939,1],[5963,1],[5967,1],[6007,1],[6099,1],[6187,1],[6255,1],[6395,1],[6411,1],[6559,1],[6587,1],[6655,1],[6903,1],[6915,1],[6951,1],[7075,1],[7531,1],[8151,1],[8439,1],[18367,1],[22591,1],[23439,1],[25039,1],[25407,1],[48959,1],[135167,1],[172031,1],[1204223,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"delete-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"syncfs","wall":9842987,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":49000,"system":804000,"driver":0,"machine":20000000},"faults":{"minor":0,"major":0},"device":{"reads":3,"read_bytes":3072,"writes":5,"write_bytes":43008,"flushes":1,"discards":0,"discard_bytes":0},"space_before":{"total":46382080,"free":42048512,"available":39532544,"inodes":12288,"inodes_free":11372},"space_after":{"total":46382080,"free":42068992,"available":39553024,"inodes":12288,"inodes_free":11516},"device_size":50331648,"latency":[[3049,1],[3311,1],[3335,1],[3349,1],[3377,1],[3409,1],[3419,1],[3421,1],[3427,1],[3431,1],[3433,1],[3449,1],[3461,1],[3479,1],[3507,1],[3511,1],[3521,2],[3527,1],[3531,1],[3537,1],[3541,2],[3555,1],[3559,1],[3565,1],[3569,1],[3575,1],[3593,1],[3595,1],[3605,1],[3613,1],[3619,1],[3623,1],[3629,1],[3635,1],[3643,1],[3677,1],[3685,1],[3687,1],[3709,1],[3713,2],[3717,1],[3729,1],[3737,1],[3739,1],[3749,2],[3753,1],[3757,1],[3763,1],[3773,1],[3775,2],[3785,2],[3789,1],[3805,1],[3825,1],[3827,1],[3831,1],[3835,2],[3843,1],[3847,1],[3857,1],[3887,1],[3893,1],[3897,1],[3925,1],[3929,1],[3941,1],[3945,1],[3971,1],[3975,2],[3981,1],[3991,1],[4001,1],[4007,1],[4013,1],[4019,1],[4027,2],[4033,1],[4061,1],[4063,1],[4079,1],[4095,1],[4131,2],[4159,2],[4171,1],[4183,1],[4191,1],[4195,1],[4207,2],[4211,1],[4231,1],[4235,1],[4251,1],[4255,1],[4283,1],[4287,1],[4291,1],[4303,2],[4383,1],[4407,1],[4411,1],[4443,1],[4451,1],[4467,2],[4523,1],[4575,1],[4799,1],[5427,1],[5555,1],[5583,1],[5675,1],[5755,1],[22319,1],[69183,1],[2691071,1]],"offered_rate":null,"verified":0,"passes":[]}],"steps":[{"step":"mkfs","command":["mke2fs","-q","-F","-t","ext2","-E","nodiscard,lazy_itable_init=0","/dev/loop8"],"exit":0,"signal":null,"elapsed":22739935,"output":""},{"step":"mount","command":["mount","-i","-t","ext2","-o","nosuid,nodev","/dev/loop8","/var/tmp/old-databases-m1mqK0/fsarena-1-a/mnt"],"exit":0,"signal":null,"elapsed":2722964,"output":""},{"step":"umount","command":["umount","/var/tmp/old-databases-m1mqK0/fsarena-1-a/mnt"],"exit":0,"signal":null,"elapsed":14551435,"output":""},{"step":"mount","command":["mount","-i","-t","ext2","-o","nosuid,nodev","/dev/loop8","/var/tmp/old-databases-m1mqK0/fsarena-1-a/mnt"],"exit":0,"signal":null,"elapsed":77296412,"output":""},{"step":"umount","command":["umount","/var/tmp/old-databases-m1mqK0/fsarena-1-a/mnt"],"exit":0,"signal":null,"elapsed":12593826,"output":""},{"step":"mount","command":["mount","-i","-t","ext2","-o","nosuid,nodev","/dev/loop8","/var/tmp/old-databases-m1mqK0/fsarena-1-a/mnt"],"exit":0,"signal":null,"elapsed":65197435,"output":""},{"step":"umount","command":["umount","/var/tmp/old-databases-m1mqK0/fsarena-1-a/mnt"],"exit":0,"signal":null,"elapsed":4978673,"output":""},{"step":"fsck","command":["e2fsck","-f","-n","/dev/loop8"],"exit":0,"signal":null,"elapsed":81927255,"output":"e2fsck 1.47.0 (5-Feb-2023)\nPass 1: Checking inodes, blocks, and sizes\nPass 2: Checking directory structure\nPass 3: Checking directory connectivity\nPass 4: Checking reference counts\nPass 5: Checking group summary information\n/dev/loop8: 772/12288 files (11.7% non-contiguous), 8069/49152 blocks"}],"age":{"wanted_fill":100,"fill":98,"files":535,"directories":226,"bytes":3670196,"operations":3745,"written":14071867,"no_space":0,"ages_apart":274,"layout_filled":904,"layout_aged":876,"stopped":"operations","elapsed":305577640},"features":{},"kernel_log":[{"title":"<6> EXT4-fs (loop8): mounting ext2 file system using the ext4 subsystem","lines":["<6> EXT4-fs (loop8): mounting ext2 file system using the ext4 subsystem","<6> EXT4-fs (loop8): mounted filesystem 1113e27a-23ff-4998-8dee-d9a779335d77 r/w without journal. Quota mode: none."],"concern":"cell"},{"title":"<6> EXT4-fs (loop8): unmounting filesystem 1113e27a-23ff-4998-8dee-d9a779335d77.","lines":["<6> EXT4-fs (loop8): unmounting filesystem 1113e27a-23ff-4998-8dee-d9a779335d77."],"concern":"cell"},{"title":"<6> exe (1741): drop_caches: 3","lines":["<6> exe (1741): drop_caches: 3"],"concern":"unknown"},{"title":"<6> EXT4-fs (loop8): mounting ext2 file system using the ext4 subsystem","lines":["<6> EXT4-fs (loop8): mounting ext2 file system using the ext4 subsystem","<6> EXT4-fs (loop8): mounted filesystem 1113e27a-23ff-4998-8dee-d9a779335d77 r/w without journal. Quota mode: none.","<6> EXT4-fs (loop8): unmounting filesystem 1113e27a-23ff-4998-8dee-d9a779335d77."],"concern":"cell"},{"title":"<6> exe (1741): drop_caches: 3","lines":["<6> exe (1741): drop_caches: 3"],"concern":"unknown"},{"title":"<6> EXT4-fs (loop8): mounting ext2 file system using the ext4 subsystem","lines":["<6> EXT4-fs (loop8): mounting ext2 file system using the ext4 subsystem","<6> EXT4-fs (loop8): mounted filesystem 1113e27a-23ff-4998-8dee-d9a779335d77 r/w without journal. Quota mode: none.","<6> EXT4-fs (loop8): unmounting filesystem 1113e27a-23ff-4998-8dee-d9a779335d77."],"concern":"cell"}],"kernel_log_readable":true,"started":1795690510359153571,"elapsed":781325887,"from_cache":false,"remarks":["open-deep was to be served from memory, and 32 KiB came from the device"],"disturbance":{"processors":2,"elapsed":781164248,"others":802975000,"stolen":0,"pressure":{"cpu":340938000,"io":386135000,"memory":0}}}',X'd65bc834b36a3d0e63a49d338f7d19e0f5a207c0fbe1628914b8b017c5d73870');
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
INSERT INTO phase VALUES(1,0,0,'create-deep','ok','warm');
INSERT INTO phase VALUES(1,0,1,'stat-deep','ok','cold');
INSERT INTO phase VALUES(1,0,2,'open-deep','ok','warm');
INSERT INTO phase VALUES(1,0,3,'delete-deep','ok','warm');
INSERT INTO phase VALUES(1,1,0,'create-deep','ok','warm');
INSERT INTO phase VALUES(1,1,1,'stat-deep','ok','cold');
INSERT INTO phase VALUES(1,1,2,'open-deep','ok','warm');
INSERT INTO phase VALUES(1,1,3,'delete-deep','ok','warm');
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
INSERT INTO measurement VALUES(1,0,0,'create-deep','cpu','percent',79.263371354680444368,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','cpu-per-operation','seconds',5.7083333333333334544e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','device-flushes','count',1.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','device-read','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','device-written','bytes',62805.333333333335757,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','elapsed','seconds',0.00092182133333333334326,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-max','seconds',4.4607000000000001684e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-mean','seconds',5.3052395833333360064e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p50','seconds',4.4390000000000001899e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p90','seconds',7.5390000000000001552e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p95','seconds',9.8870000000000003749e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p99','seconds',1.663900000000000112e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p999','seconds',4.4607000000000001684e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p9999','seconds',4.4607000000000001684e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','minor-faults','count',0.33333333333333331482,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','rate','per-second',138855.54105929422075,'higher','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','space-taken','bytes',4096.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','cpu','percent',46.875245001555633449,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','cpu-driver','percent',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','cpu-per-operation','seconds',4.4375000000000002888e-06,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','device-flushes','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','device-read','bytes',50176.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','device-written','bytes',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','elapsed','seconds',0.0012117269999999998996,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-above-10s','percent',0.0,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-above-2s','percent',0.0,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-max','seconds',0.0006138870000000000264,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-mean','seconds',9.4276250000000010676e-06,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p50','seconds',3.0709999999999999043e-06,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p90','seconds',4.0090000000000000717e-06,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p95','seconds',5.5069999999999999593e-06,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p99','seconds',0.000100478999999999998,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p999','seconds',0.0006138870000000000264,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p9999','seconds',0.0006138870000000000264,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','major-faults','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','minor-faults','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','rate','per-second',105634.35493308311561,'higher','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','space-taken','bytes',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,2,'open-deep','cpu','percent',100.39445187605930698,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','cpu-per-operation','seconds',1.4492187500000000741e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','device-flushes','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','device-read','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','device-written','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','elapsed','seconds',0.00018477116666666668401,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-max','seconds',2.47349999999999995e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-mean','seconds',1.431863281249998494e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p50','seconds',1.3809999999999999914e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p90','seconds',1.4690000000000000382e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p95','seconds',1.5209999999999999215e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p99','seconds',1.7269999999999999397e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p999','seconds',2.47349999999999995e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p9999','seconds',2.47349999999999995e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','rate','per-second',692748.77844396710859,'higher','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','space-taken','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','cpu','percent',83.894475019866504798,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','cpu-per-operation','seconds',4.4401041666666667363e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','device-flushes','count',1.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','device-read','bytes',1024.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','device-written','bytes',41984.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','elapsed','seconds',0.00067743833333333330817,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-max','seconds',7.9999000000000004351e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-mean','seconds',3.4625520833333324835e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p50','seconds',3.0730000000000000546e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p90','seconds',3.6370000000000000757e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p95','seconds',4.4669999999999997521e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p99','seconds',8.6789999999999994052e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p999','seconds',7.9999000000000004351e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p9999','seconds',7.9999000000000004351e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','rate','per-second',188947.08743477266398,'higher','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','space-taken','bytes',-20480.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','cpu','percent',6.1159017587768689239,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','cpu-per-operation','seconds',9.3437500000000001127e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','device-flushes','count',1.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','device-read','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','device-written','bytes',63488.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','elapsed','seconds',0.019555579000000000017,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-max','seconds',3.0318999999999998891e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-mean','seconds',8.5596875000000012144e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p50','seconds',7.7149999999999998257e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p90','seconds',1.0455000000000000696e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p95','seconds',1.4959000000000000264e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p99','seconds',2.0590999999999999873e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p999','seconds',3.0318999999999998891e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p9999','seconds',3.0318999999999998891e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','rate','per-second',6545.4466983565152988,'higher','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','space-taken','bytes',4096.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','cpu','percent',1.5480991339711871468,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','cpu-driver','percent',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','cpu-per-operation','seconds',0.00053100000000000000498,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','device-flushes','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','device-read','bytes',17408.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','device-written','bytes',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','elapsed','seconds',0.034300128999999998646,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-above-10s','percent',0.0,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-above-2s','percent',0.0,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-max','seconds',0.034308094999999996788,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-mean','seconds',0.034308094999999996788,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p50','seconds',0.034308094999999996788,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p90','seconds',0.034308094999999996788,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p95','seconds',0.034308094999999996788,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p99','seconds',0.034308094999999996788,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p999','seconds',0.034308094999999996788,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p9999','seconds',0.034308094999999996788,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','major-faults','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','minor-faults','count',4.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','rate','per-second',29.154409302658891079,'higher','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','space-taken','bytes',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,2,'open-deep','cpu','percent',38.781617425698144074,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','cpu-per-operation','seconds',6.9140625000000003469e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','device-flushes','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','device-read','bytes',32768.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','device-written','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','elapsed','seconds',0.0022820090000000002074,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-max','seconds',0.0012042229999999999254,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-mean','seconds',1.7732749999999997212e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p50','seconds',5.0869999999999997459e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p90','seconds',7.0750000000000000236e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p95','seconds',2.3439000000000000389e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p99','seconds',0.00017203100000000000682,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p999','seconds',0.0012042229999999999254,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p9999','seconds',0.0012042229999999999254,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','rate','per-second',56090.926898184887247,'higher','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','space-taken','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','cpu','percent',8.6660685419984808675,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','cpu-per-operation','seconds',6.6640625000000001994e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','device-flushes','count',1.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','device-read','bytes',3072.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','device-written','bytes',43008.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','elapsed','seconds',0.009842986999999999223,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-max','seconds',0.0026910710000000001747,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-mean','seconds',2.5579234375000002225e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p50','seconds',3.8349999999999997046e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p90','seconds',4.4669999999999997521e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p95','seconds',5.5550000000000001772e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p99','seconds',6.9183000000000004908e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p999','seconds',0.0026910710000000001747,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p9999','seconds',0.0026910710000000001747,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','rate','per-second',13004.182571814837501,'higher','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','space-taken','bytes',-20480.0,'neutral','warm');
CREATE TABLE calibration (
    campaign    INTEGER PRIMARY KEY REFERENCES campaign (id),
    taken       INTEGER NOT NULL,
    calibration TEXT NOT NULL CHECK (json_valid(calibration))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
INSERT INTO calibration VALUES(1,1795690509635046368,'{"taken":1795690509635046368,"elapsed":351879505,"overhead":{"operation":{"median":53.81227010336958,"least":52.707070707070706,"most":279.75045045045044,"repetitions":3},"clock":{"median":115.62551515151515,"least":36.25592857142857,"most":323.29157142857144,"repetitions":3},"histogram":{"median":3.5476418439716313,"least":3.4457280550774527,"most":3.593858168761221,"repetitions":3},"marking":{"median":29838638055.862663,"least":3546802161.8647466,"most":103505855349.68079,"repetitions":3},"verification":{"median":25655515537.297955,"least":4989604673.033991,"most":26210153955.059277,"repetitions":3}},"raw_device":{"sequential_read":{"median":1509597667.5131254,"least":629770296.1469036,"most":1570744123.7306132,"repetitions":3},"sequential_write":{"median":1578429167.4057858,"least":509185968.4960477,"most":2332480451.0628905,"repetitions":3},"random_read":{"median":32283.248222497346,"least":501.0926324851339,"most":32875.40919392295,"repetitions":3},"random_write":{"median":14896.893272171312,"least":469.7686051386297,"most":18325.508493919,"repetitions":3},"queued_read":{"median":37058.44858510843,"least":26927.57457833544,"most":70208.67469359699,"repetitions":3},"queued_write":{"median":15287.251732895442,"least":10130.11380807674,"most":19367.56109585182,"repetitions":3}},"device":"image of 48 MiB: /var/tmp/old-databases-m1mqK0/fsarena-1-a/image-0 on ext4 on /dev/vda (256.0 GiB, rotating, cache write back), on a loop device, direct I/O, no discards","disturbance":{"processors":2,"elapsed":351878373,"others":474824000,"stolen":0,"pressure":{"cpu":137747000,"io":57213000,"memory":0}}}',X'2e13ae065847c99083c3eb0828d42f18ba21624c97571b0c17535e1f2be9249b');
CREATE TABLE imported (
    campaign INTEGER PRIMARY KEY REFERENCES campaign (id),
    digest   BLOB NOT NULL CHECK (length(digest) = 32)
) STRICT;
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
CREATE TRIGGER phase_once BEFORE INSERT ON phase
WHEN EXISTS (
    SELECT 1 FROM phase WHERE campaign = NEW.campaign AND cell = NEW.cell AND position = NEW.position
)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER measurement_once BEFORE INSERT ON measurement
WHEN EXISTS (
    SELECT 1 FROM measurement
    WHERE campaign = NEW.campaign AND cell = NEW.cell AND position = NEW.position AND metric = NEW.metric
)
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
COMMIT;
