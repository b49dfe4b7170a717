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
INSERT INTO campaign VALUES(1,'dir',1795690496165901913,'smoke','dir','{"name":"dir","contenders":[{"name":"var-tmp-old-databases-m1mqk0-a","filesystem":{"name":"ext4","title":"ext4","aliases":[],"driver":"kernel","facts":{"origin":{"system":"Linux","source":"ext4(5) of e2fsprogs"},"read_by":[{"system":"linux","writes":true,"source":"filesystems(5) of the Linux man-pages"},{"system":"freebsd","writes":true,"source":"ext2fs(4) of FreeBSD"}],"booted_by":[{"name":"GRUB","source":"GNU GRUB manual, Features"},{"name":"SYSLINUX","source":"Syslinux wiki, Filesystem (4.00 and later)"},{"name":"U-Boot","source":"U-Boot, fs/fs.c"}],"largest_file":{"size":"16 TiB with blocks of 4 KiB","source":"Linux Documentation/filesystems/ext4/blocks.rst"},"largest_volume":{"size":"1 EiB","source":"Oracle Linux 9, Managing Local File Systems, Maximum File and File System Size"}},"source":"mke2fs(8), ext4(5), e2fsck(8) of e2fsprogs 1.47.0; tried on Debian 12, Linux 6.18","requires":{"kernel":"ext4","modules":["crc32c-intel","crc32c_generic","jbd2","mbcache","crc16","ext4"],"packages":["e2fsprogs"],"programs":["mke2fs","e2fsck"],"smallest":8388608,"largest":null},"commands":{"mkfs":["mke2fs","-q","-F","-t","ext4","{options}","{device}"],"mkfs_writes":{"bytes":33554432,"one_in":42},"mount":["mount","-i","-t","ext4","-o","{options}","{device}","{mountpoint}"],"umount":["umount","{mountpoint}"],"fsck":["e2fsck","-f","-n","{device}"],"fsck_clean":[0],"mkfs_options":["-E","nodiscard,lazy_itable_init=0,lazy_journal_init=0"],"mount_options":[],"version":["mke2fs","-V"]},"quirks":["Lazy initialisation of inode tables and journal is off (lazy_itable_init=0, lazy_journal_init=0): left on, a kernel thread writes them during the run. mkfs takes longer for it.","mke2fs heeds only the last -E: a contender with an -E of its own has to repeat these words.","mke2fs is told not to discard."],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":"/var/tmp/old-databases-m1mqK0/a"},{"name":"var-tmp-old-databases-m1mqk0-b","filesystem":{"name":"ext4","title":"ext4","aliases":[],"driver":"kernel","facts":{"origin":{"system":"Linux","source":"ext4(5) of e2fsprogs"},"read_by":[{"system":"linux","writes":true,"source":"filesystems(5) of the Linux man-pages"},{"system":"freebsd","writes":true,"source":"ext2fs(4) of FreeBSD"}],"booted_by":[{"name":"GRUB","source":"GNU GRUB manual, Features"},{"name":"SYSLINUX","source":"Syslinux wiki, Filesystem (4.00 and later)"},{"name":"U-Boot","source":"U-Boot, fs/fs.c"}],"largest_file":{"size":"16 TiB with blocks of 4 KiB","source":"Linux Documentation/filesystems/ext4/blocks.rst"},"largest_volume":{"size":"1 EiB","source":"Oracle Linux 9, Managing Local File Systems, Maximum File and File System Size"}},"source":"mke2fs(8), ext4(5), e2fsck(8) of e2fsprogs 1.47.0; tried on Debian 12, Linux 6.18","requires":{"kernel":"ext4","modules":["crc32c-intel","crc32c_generic","jbd2","mbcache","crc16","ext4"],"packages":["e2fsprogs"],"programs":["mke2fs","e2fsck"],"smallest":8388608,"largest":null},"commands":{"mkfs":["mke2fs","-q","-F","-t","ext4","{options}","{device}"],"mkfs_writes":{"bytes":33554432,"one_in":42},"mount":["mount","-i","-t","ext4","-o","{options}","{device}","{mountpoint}"],"umount":["umount","{mountpoint}"],"fsck":["e2fsck","-f","-n","{device}"],"fsck_clean":[0],"mkfs_options":["-E","nodiscard,lazy_itable_init=0,lazy_journal_init=0"],"mount_options":[],"version":["mke2fs","-V"]},"quirks":["Lazy initialisation of inode tables and journal is off (lazy_itable_init=0, lazy_journal_init=0): left on, a kernel thread writes them during the run. mkfs takes longer for it.","mke2fs heeds only the last -E: a contender with an -E of its own has to repeat these words.","mke2fs is told not to discard."],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":"/var/tmp/old-databases-m1mqK0/b"}],"suites":[{"name":"large-file","title":"One large file","source":"Filesystems for a file server (Debian; a 700 MB image); OS/2 Filesystem Shootout (reading 600 MB)","tests":[{"name":"large-file","suite":"large-file","title":"Copying a large file in, within, and away","rationale":"What a file server does with an image: it comes in, is copied, is read by somebody else, and goes. Coming in is copying from another disk, as in the published runs, where the campaign has one (--source), and begins cold then; else it is writing content that is made in memory: a source that costs nothing, so that only the target counts. Each writing step ends with syncfs or fsync. Copying and reading the copy back begin with cold caches; every byte is compared with what was written. CPU is a small share except for comparing, which is not the filesystem''s.","space":16777216,"sweep":null,"phases":[{"name":"copy-in","cache":"warm","ends":"fsync","at_most":null,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"copy-file-in","file":"image","size":4194304,"block":65536}},{"name":"copy-within","cache":"cold","ends":"fsync","at_most":null,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"copy-file","from":"image","to":"copy","block":65536}},{"name":"verify","cache":"cold","ends":"call","at_most":null,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"io","file":"copy","access":"read","block":65536,"align":null,"size":null,"operations":null,"engine":"psync","depth":1,"threads":1,"sharing":"shared","fsync":0,"rate":null,"verify":true}},{"name":"remove","cache":"warm","ends":"syncfs","at_most":null,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"remove-file","file":"image"}}]}]}],"profile":"smoke","rounds":1,"until":null,"seed":8,"size":536870912,"memory":null,"backend":"dir","clock":"real","guest":null,"device":null,"work_dir":"/var/tmp/old-databases-m1mqK0","stall_timeout":120000000000,"phase_limit":120000000000}',X'f70bd507bebfcc259257335dc296c339ea07d0a0f82d53079364ebfb12913dd3');
CREATE TABLE session (
    id          INTEGER PRIMARY KEY,
    campaign    INTEGER NOT NULL REFERENCES campaign (id),
    started     INTEGER NOT NULL,
    environment TEXT NOT NULL CHECK (json_valid(environment))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
INSERT INTO session VALUES(1,1,1795690496172437356,'{"program":"0.1.0","kernel":"Linux 6.18.44-fc-v657 #1 SMP PREEMPT_DYNAMIC @0 x86_64","distribution":"Debian GNU/Linux 12 (bookworm)","cpu":"Intel(R) Xeon(R) Processor","cpus":2,"memory":25325268992,"memory_goes_back":true,"caches":[{"level":1,"kind":"data","size":49152},{"level":1,"kind":"instruction","size":32768},{"level":2,"kind":"unified","size":2097152},{"level":3,"kind":"unified","size":314572800}],"device":"/var/tmp/old-databases-m1mqK0/a on ext4 on /dev/vda (256.0 GiB, rotating, cache write back); /var/tmp/old-databases-m1mqK0/b on ext4 on /dev/vda (256.0 GiB, rotating, cache write back)","attachment":"a directory of a mounted filesystem","conditions":[{"what":"readahead of var-tmp-old-databases-m1mqk0-a","value":"8 MiB"},{"what":"I/O scheduler of var-tmp-old-databases-m1mqk0-a","value":"mq-deadline"},{"what":"readahead of var-tmp-old-databases-m1mqk0-b","value":"8 MiB"},{"what":"I/O scheduler of var-tmp-old-databases-m1mqk0-b","value":"mq-deadline"},{"what":"dirty memory","value":"dirty_ratio 20, dirty_background_ratio 10, dirty_expire_centisecs 3000, dirty_writeback_centisecs 500"},{"what":"transparent huge pages","value":"madvise"},{"what":"cgroup","value":"/"},{"what":"virtual machine","value":"yes"}],"clock":"real time","tools":[{"program":"mke2fs","version":"mke2fs 1.47.0 (5-Feb-2023)"}]}',X'184631a352c2806616e2b491f7a5744c755e7c1b85e8012a408f6e535b41c15d');
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
INSERT INTO planned_cell VALUES(1,0,'var-tmp-old-databases-m1mqk0-b','large-file','large-file',1,'1873048171538658269',X'19712510bcffb3571b8c767394fbcff3e06f73ce0c0b3b1b6949c910d1e5f181');
INSERT INTO planned_cell VALUES(1,1,'var-tmp-old-databases-m1mqk0-a','large-file','large-file',1,'1873048171538658269',X'e75304cfdac87e3d2ad4f817efee29e42a241c4740a8d3750f41e01e2945b7b5');
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
INSERT INTO cell VALUES(1,0,1,'ok',1795690496233226359,34981550,'{"status":"ok","failure":null,"phases":[{"phase":"copy-in","status":"ok","failure":null,"primary_metric":"throughput","cache":"warm","ends":"fsync","wall":4369668,"operations":64,"bytes":4194304,"bytes_written":4194304,"cut_short":false,"cpu":{"user":1575000,"system":0,"driver":0,"machine":0},"faults":{"minor":8,"major":0},"device":null,"space_before":{"total":270553174016,"free":246316408832,"available":73556529152,"inodes":16777216,"inodes_free":16262634},"space_after":{"total":270553174016,"free":246312214528,"available":73552334848,"inodes":16777216,"inodes_free":16262634},"device_size":null,"latency":[[15359,1],[15495,1],[15575,1],[15631,1],[15743,1],[15799,1],[15895,1],[15927,1],[15959,1],[15983,1],[16247,1],[16263,1],[16287,1],[16303,1],[16311,1],[16375,1],[16415,1],[16463,1],[16479,2],[16511,1],[16543,2],[16575,1],[16815,2],[17055,1],[17119,1],[17135,1],[17343,1],[17487,1],[17519,1],[17535,1],[17647,1],[17679,1],[17695,1],[17775,1],[18127,1],[18239,1],[18271,1],[18367,2],[18431,1],[18479,1],[18543,1],[18575,1],[18607,1],[18879,2],[18959,1],[19087,1],[19471,1],[19487,1],[19663,1],[19759,1],[21199,1],[21375,1],[24383,1],[24447,1],[26255,1],[28047,1],[28095,1],[29103,1],[44703,1]],"open":[[65983,1]],"close":[[2533,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"copy-within","status":"ok","failure":null,"primary_metric":"elapsed","cache":"advised","ends":"fsync","wall":6478317,"operations":64,"bytes":4194304,"bytes_written":4194304,"cut_short":false,"cpu":{"user":1291000,"system":646000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":{"total":270553174016,"free":246312214528,"available":73552334848,"inodes":16777216,"inodes_free":16262634},"space_after":{"total":270553174016,"free":246308020224,"available":73548140544,"inodes":16777216,"inodes_free":16262633},"device_size":null,"latency":[[18943,1],[19375,1],[19407,1],[19455,1],[19583,1],[19599,1],[19615,1],[19663,1],[19759,1],[19823,1],[19871,1],[20191,1],[20255,1],[20271,1],[20319,1],[20367,1],[20623,1],[20639,1],[20703,1],[20751,2],[20831,1],[20895,1],[20911,1],[20927,2],[20943,1],[21087,1],[21151,1],[21199,1],[21247,1],[21279,1],[21311,2],[21327,1],[21343,1],[21375,2],[21423,1],[21439,1],[21503,1],[21631,1],[21887,1],[22191,1],[22239,1],[22431,1],[22479,1],[22591,2],[22863,1],[22975,1],[23087,1],[23119,1],[23215,1],[23231,1],[23583,1],[23887,1],[28415,1],[33919,1],[43167,1],[43487,1],[92095,1],[367359,1],[1810431,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"verify","status":"ok","failure":null,"primary_metric":"throughput","cache":"advised","ends":"call","wall":3358385,"operations":64,"bytes":4194304,"bytes_written":0,"cut_short":false,"cpu":{"user":955000,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":{"total":270553174016,"free":246308020224,"available":73548140544,"inodes":16777216,"inodes_free":16262633},"space_after":{"total":270553174016,"free":246308020224,"available":73548140544,"inodes":16777216,"inodes_free":16262633},"device_size":null,"latency":[[8887,1],[9127,1],[9159,1],[9271,2],[9359,1],[9431,1],[9447,1],[9463,2],[9535,1],[9551,1],[9591,1],[9607,1],[9647,1],[9663,1],[9671,2],[9679,1],[9687,1],[9695,1],[9727,1],[9767,1],[9799,1],[9807,1],[9831,1],[9847,1],[9855,1],[9983,1],[10015,1],[10095,1],[10135,1],[10143,1],[10263,1],[10271,1],[10391,1],[10399,1],[10487,1],[10791,1],[11015,1],[11215,1],[11367,1],[11655,1],[11711,1],[11999,1],[12031,1],[12279,1],[12343,1],[12391,1],[12407,1],[12415,1],[12455,1],[12591,1],[12639,1],[12703,1],[12719,1],[13239,1],[17855,1],[22495,1],[35647,1],[91071,1],[130751,1],[665599,1],[1795071,1]],"open":[[25471,1]],"close":[[931,1]],"offered_rate":null,"verified":4194304,"passes":[]},{"phase":"remove","status":"ok","failure":null,"primary_metric":"elapsed","cache":"warm","ends":"syncfs","wall":1287115,"operations":1,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":195000,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":{"total":270553174016,"free":246308020224,"available":73548140544,"inodes":16777216,"inodes_free":16262633},"space_after":{"total":270553174016,"free":246312214528,"available":73552334848,"inodes":16777216,"inodes_free":16262634},"device_size":null,"latency":[[775167,1]],"offered_rate":null,"verified":0,"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":1795690496233226359,"elapsed":34981550,"from_cache":false,"remarks":[],"disturbance":{"processors":2,"elapsed":34844793,"others":0,"stolen":0,"pressure":{"cpu":1103000,"io":11358000,"memory":0}}}',X'b7b59da6f34bb897eeda0a02b76fef3c6a17e8a2329ffe81ed36f305b2dccade');
INSERT INTO cell VALUES(1,1,1,'ok',1795690496271530271,33678739,'{"status":"ok","failure":null,"phases":[{"phase":"copy-in","status":"ok","failure":null,"primary_metric":"throughput","cache":"warm","ends":"fsync","wall":3851266,"operations":64,"bytes":4194304,"bytes_written":4194304,"cut_short":false,"cpu":{"user":0,"system":1524000,"driver":0,"machine":0},"faults":{"minor":8,"major":0},"device":null,"space_before":{"total":270553174016,"free":246316376064,"available":73556496384,"inodes":16777216,"inodes_free":16262634},"space_after":{"total":270553174016,"free":246312181760,"available":73552302080,"inodes":16777216,"inodes_free":16262634},"device_size":null,"latency":[[14895,1],[14959,1],[14999,1],[15151,1],[15271,1],[15295,1],[15359,1],[15527,1],[15575,1],[15639,1],[15703,1],[15719,1],[15727,2],[15831,1],[15919,1],[15943,1],[15983,1],[16039,1],[16071,1],[16231,1],[16375,1],[16431,1],[16447,1],[16543,1],[16559,1],[16687,1],[16831,1],[16847,1],[16895,2],[16927,1],[16943,1],[17167,2],[17215,1],[17231,1],[17391,1],[17439,1],[17503,1],[17631,1],[17711,1],[18095,1],[18175,1],[18383,1],[18447,1],[18703,1],[18735,1],[19199,1],[19247,1],[19295,1],[20543,1],[21151,1],[21583,1],[21711,1],[22159,1],[22415,1],[22639,1],[24015,1],[26319,1],[28783,1],[37247,1],[38719,1],[42431,1]],"open":[[45503,1]],"close":[[3053,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"copy-within","status":"ok","failure":null,"primary_metric":"elapsed","cache":"advised","ends":"fsync","wall":5783321,"operations":64,"bytes":4194304,"bytes_written":4194304,"cut_short":false,"cpu":{"user":0,"system":2153000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":{"total":270553174016,"free":246312181760,"available":73552302080,"inodes":16777216,"inodes_free":16262634},"space_after":{"total":270553174016,"free":246307987456,"available":73548107776,"inodes":16777216,"inodes_free":16262633},"device_size":null,"latency":[[18415,1],[18735,1],[18751,2],[18911,1],[18991,1],[19295,1],[19535,1],[19695,1],[19855,1],[19903,1],[20095,1],[20255,1],[20399,1],[20431,1],[20447,1],[20527,1],[20543,1],[20591,1],[20655,1],[20783,1],[20831,1],[20863,1],[21055,1],[21103,1],[21183,1],[21199,1],[21295,1],[21535,2],[22159,1],[22335,1],[22639,1],[22671,1],[22751,1],[22911,1],[22975,1],[23119,1],[23151,1],[23183,1],[23615,1],[23807,1],[23887,1],[26431,1],[26527,1],[26767,1],[27151,1],[27951,1],[29743,1],[30207,1],[31183,1],[31567,1],[31695,1],[32767,1],[33951,1],[34527,1],[34975,1],[35039,1],[44607,1],[48127,1],[59359,1],[93567,1],[415999,1],[1442815,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"verify","status":"ok","failure":null,"primary_metric":"throughput","cache":"advised","ends":"call","wall":2877595,"operations":64,"bytes":4194304,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":938000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":{"total":270553174016,"free":246307987456,"available":73548107776,"inodes":16777216,"inodes_free":16262633},"space_after":{"total":270553174016,"free":246307987456,"available":73548107776,"inodes":16777216,"inodes_free":16262633},"device_size":null,"latency":[[8791,1],[9119,1],[9151,1],[9159,1],[9167,1],[9231,1],[9367,1],[9391,1],[9407,1],[9567,1],[9615,1],[9623,1],[9655,1],[9695,1],[9743,1],[9783,1],[9791,1],[9855,1],[9863,1],[9871,1],[9895,1],[9903,1],[9943,1],[10007,1],[10015,1],[10023,1],[10039,1],[10063,1],[10079,1],[10111,1],[10119,1],[10127,1],[10151,1],[10175,1],[10215,1],[10231,2],[10271,1],[10287,2],[10303,1],[10311,1],[10351,1],[10447,1],[10543,1],[10599,1],[10695,1],[10703,1],[10743,1],[10839,1],[11247,1],[11479,1],[11783,1],[12111,1],[12439,2],[12551,1],[13807,1],[22831,1],[39199,1],[80383,1],[131711,1],[303871,1],[1703935,1]],"open":[[11447,1]],"close":[[856,1]],"offered_rate":null,"verified":4194304,"passes":[]},{"phase":"remove","status":"ok","failure":null,"primary_metric":"elapsed","cache":"warm","ends":"syncfs","wall":1303398,"operations":1,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":100000,"system":100000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":{"total":270553174016,"free":246307987456,"available":73548107776,"inodes":16777216,"inodes_free":16262633},"space_after":{"total":270553174016,"free":246312181760,"available":73552302080,"inodes":16777216,"inodes_free":16262634},"device_size":null,"latency":[[998399,1]],"offered_rate":null,"verified":0,"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":1795690496271530271,"elapsed":33678739,"from_cache":false,"remarks":[],"disturbance":{"processors":2,"elapsed":33574027,"others":7263000,"stolen":0,"pressure":{"cpu":994000,"io":7530000,"memory":0}}}',X'5d825001ef3707c1cfcf1903b06d7f58c4ffa30d25b12af0b4ad7e7a9a561bd5');
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
INSERT INTO phase VALUES(1,0,0,'copy-in','ok','warm');
INSERT INTO phase VALUES(1,0,1,'copy-within','ok','advised');
INSERT INTO phase VALUES(1,0,2,'verify','ok','advised');
INSERT INTO phase VALUES(1,0,3,'remove','ok','warm');
INSERT INTO phase VALUES(1,1,0,'copy-in','ok','warm');
INSERT INTO phase VALUES(1,1,1,'copy-within','ok','advised');
INSERT INTO phase VALUES(1,1,2,'verify','ok','advised');
INSERT INTO phase VALUES(1,1,3,'remove','ok','warm');
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
INSERT INTO measurement VALUES(1,0,0,'copy-in','close-max','seconds',2.5330000000000001427e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','close-mean','seconds',2.5330000000000001427e-06,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','cpu','percent',36.04392828013478578,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','cpu-per-operation','seconds',2.4609375000000000173e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','elapsed','seconds',0.0043696680000000001631,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','latency-max','seconds',4.4703000000000002117e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','latency-mean','seconds',1.8727749999999990227e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','latency-p50','seconds',1.751899999999999947e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','latency-p90','seconds',2.4383000000000000159e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','latency-p95','seconds',2.8047000000000000992e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','latency-p99','seconds',4.4703000000000002117e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','latency-p999','seconds',4.4703000000000002117e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','latency-p9999','seconds',4.4703000000000002117e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','minor-faults','count',8.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','open-max','seconds',6.5982999999999994889e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','open-mean','seconds',6.5982999999999994889e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','rate','per-second',14646.421650340482301,'higher','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','space-taken','bytes',4194304.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'copy-in','throughput','bytes-per-second',959867889.2767138481,'higher','warm');
INSERT INTO measurement VALUES(1,0,1,'copy-within','cpu','percent',29.899740935801691677,'neutral','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','cpu-driver','percent',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','cpu-per-operation','seconds',3.0265624999999998746e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','elapsed','seconds',0.0064783169999999999297,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','latency-above-10s','percent',0.0,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','latency-above-2s','percent',0.0,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','latency-max','seconds',0.0018104309999999999326,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','latency-mean','seconds',5.6666249999999992992e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','latency-p50','seconds',2.1279000000000000739e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','latency-p90','seconds',2.8415000000000001536e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','latency-p95','seconds',4.3486999999999998854e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','latency-p99','seconds',0.0018104309999999999326,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','latency-p999','seconds',0.0018104309999999999326,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','latency-p9999','seconds',0.0018104309999999999326,'lower','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','major-faults','count',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','minor-faults','count',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','rate','per-second',9879.1090340284372361,'higher','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','space-taken','bytes',4194304.0,'neutral','advised');
INSERT INTO measurement VALUES(1,0,1,'copy-within','throughput','bytes-per-second',647437289.65408766269,'higher','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','close-max','seconds',9.3099999999999995901e-07,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','close-mean','seconds',9.3099999999999995901e-07,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','cpu','percent',28.436287084417063652,'neutral','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','cpu-driver','percent',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','cpu-per-operation','seconds',1.4921875000000000175e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','elapsed','seconds',0.0033583850000000001895,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','latency-above-10s','percent',0.0,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','latency-above-2s','percent',0.0,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','latency-max','seconds',0.0017950710000000000797,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','latency-mean','seconds',5.2470999999999999576e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','latency-p50','seconds',1.0135000000000000372e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','latency-p90','seconds',1.7855000000000000997e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','latency-p95','seconds',9.1070999999999995922e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','latency-p99','seconds',0.0017950710000000000797,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','latency-p999','seconds',0.0017950710000000000797,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','latency-p9999','seconds',0.0017950710000000000797,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','major-faults','count',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','minor-faults','count',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','open-max','seconds',2.5471000000000000584e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','open-mean','seconds',2.5471000000000000584e-05,'lower','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','rate','per-second',19056.778779085780115,'higher','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','space-taken','bytes',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,0,2,'verify','throughput','bytes-per-second',1248905054.0661656857,'higher','advised');
INSERT INTO measurement VALUES(1,0,3,'remove','cpu','percent',15.150161407488841547,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','cpu-per-operation','seconds',0.00019499999999999999646,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','elapsed','seconds',0.0012871149999999999171,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','latency-max','seconds',0.00077516700000000000013,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','latency-mean','seconds',0.00077516700000000000013,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','latency-p50','seconds',0.00077516700000000000013,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','latency-p90','seconds',0.00077516700000000000013,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','latency-p95','seconds',0.00077516700000000000013,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','latency-p99','seconds',0.00077516700000000000013,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','latency-p999','seconds',0.00077516700000000000013,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','latency-p9999','seconds',0.00077516700000000000013,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','rate','per-second',776.93135423019703011,'higher','warm');
INSERT INTO measurement VALUES(1,0,3,'remove','space-taken','bytes',-4194304.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','close-max','seconds',3.0529999999999998224e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','close-mean','seconds',3.0529999999999998224e-06,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','cpu','percent',39.571403273624831341,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','cpu-per-operation','seconds',2.3812499999999999439e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','elapsed','seconds',0.0038512659999999998908,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','latency-max','seconds',4.2431000000000000833e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','latency-mean','seconds',1.8787375000000000688e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','latency-p50','seconds',1.692699999999999904e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','latency-p90','seconds',2.263900000000000127e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','latency-p95','seconds',2.878299999999999869e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','latency-p99','seconds',4.2431000000000000833e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','latency-p999','seconds',4.2431000000000000833e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','latency-p9999','seconds',4.2431000000000000833e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','minor-faults','count',8.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','open-max','seconds',4.5503000000000001236e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','open-mean','seconds',4.5503000000000001236e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','rate','per-second',16617.912135905440663,'higher','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','space-taken','bytes',4194304.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'copy-in','throughput','bytes-per-second',1089071489.7386989593,'higher','warm');
INSERT INTO measurement VALUES(1,1,1,'copy-within','cpu','percent',37.227745096632197884,'neutral','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','cpu-driver','percent',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','cpu-per-operation','seconds',3.3640624999999999467e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','elapsed','seconds',0.0057833210000000001213,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','latency-above-10s','percent',0.0,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','latency-above-2s','percent',0.0,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','latency-max','seconds',0.0014428150000000000696,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','latency-mean','seconds',5.4223749999999997319e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','latency-p50','seconds',2.233499999999999876e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','latency-p90','seconds',3.5039000000000001134e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','latency-p95','seconds',5.9358999999999998678e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','latency-p99','seconds',0.0014428150000000000696,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','latency-p999','seconds',0.0014428150000000000696,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','latency-p9999','seconds',0.0014428150000000000696,'lower','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','major-faults','count',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','minor-faults','count',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','rate','per-second',11066.306020364423603,'higher','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','space-taken','bytes',4194304.0,'neutral','advised');
INSERT INTO measurement VALUES(1,1,1,'copy-within','throughput','bytes-per-second',725241431.35060286521,'higher','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','close-max','seconds',8.5600000000000004167e-07,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','close-mean','seconds',8.5600000000000004167e-07,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','cpu','percent',32.596664923312694383,'neutral','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','cpu-driver','percent',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','cpu-per-operation','seconds',1.4656250000000000494e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','elapsed','seconds',0.0028775950000000001527,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','latency-above-10s','percent',0.0,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','latency-above-2s','percent',0.0,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','latency-max','seconds',0.0017039349999999999548,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','latency-mean','seconds',4.4958375000000004736e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','latency-p50','seconds',1.0126999999999999771e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','latency-p90','seconds',1.3807000000000000112e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','latency-p95','seconds',8.0383000000000006095e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','latency-p99','seconds',0.0017039349999999999548,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','latency-p999','seconds',0.0017039349999999999548,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','latency-p9999','seconds',0.0017039349999999999548,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','major-faults','count',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','minor-faults','count',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','open-max','seconds',1.1447000000000000685e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','open-mean','seconds',1.1447000000000000685e-05,'lower','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','rate','per-second',22240.79483040525156,'higher','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','space-taken','bytes',0.0,'neutral','advised');
INSERT INTO measurement VALUES(1,1,2,'verify','throughput','bytes-per-second',1457572730.0054385661,'higher','advised');
INSERT INTO measurement VALUES(1,1,3,'remove','cpu','percent',15.344507203478906731,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','cpu-per-operation','seconds',0.00020000000000000000958,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','elapsed','seconds',0.0013033980000000000998,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','latency-max','seconds',0.0009983990000000000746,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','latency-mean','seconds',0.0009983990000000000746,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','latency-p50','seconds',0.0009983990000000000746,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','latency-p90','seconds',0.0009983990000000000746,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','latency-p95','seconds',0.0009983990000000000746,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','latency-p99','seconds',0.0009983990000000000746,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','latency-p999','seconds',0.0009983990000000000746,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','latency-p9999','seconds',0.0009983990000000000746,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','rate','per-second',767.2253601739453188,'higher','warm');
INSERT INTO measurement VALUES(1,1,3,'remove','space-taken','bytes',-4194304.0,'neutral','warm');
CREATE TABLE calibration (
    campaign    INTEGER PRIMARY KEY REFERENCES campaign (id),
    taken       INTEGER NOT NULL,
    calibration TEXT NOT NULL CHECK (json_valid(calibration))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
INSERT INTO calibration VALUES(1,1795690496172908942,'{"taken":1795690496172908942,"elapsed":58755873,"overhead":{"operation":{"median":68.03493612551252,"least":55.004524018425094,"most":68.30405818775067,"repetitions":3},"clock":{"median":43.605782608695655,"least":36.70614545454546,"most":44.504311111111114,"repetitions":3},"histogram":{"median":4.748940758293839,"least":3.420447863247863,"most":4.961178217821781,"repetitions":3},"marking":{"median":80675569517.6773,"least":80026401428.61418,"most":98260602656.04105,"repetitions":3},"verification":{"median":18450657867.404003,"least":17950738887.34273,"most":19132277303.108818,"repetitions":3}},"raw_device":null,"device":"mounted directories show no device without a filesystem","disturbance":{"processors":2,"elapsed":58755912,"others":3602000,"stolen":0,"pressure":{"cpu":17000,"io":0,"memory":0}}}',X'ff66f9495eba0eeccc84584fc3785d88b2cc80aee33270e6c0d6818e9ad3064f');
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
