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
INSERT INTO campaign VALUES(1,'fio',1795610280000000000,'study','elsewhere','{"name":"fio","contenders":[{"name":"ext4","filesystem":{"name":"ext4","title":"ext4","aliases":[],"driver":"kernel","facts":{"origin":{"system":"Linux","source":"ext4(5) of e2fsprogs"},"read_by":[{"system":"linux","writes":true,"source":"filesystems(5) of the Linux man-pages"},{"system":"freebsd","writes":true,"source":"ext2fs(4) of FreeBSD"}],"booted_by":[{"name":"GRUB","source":"GNU GRUB manual, Features"},{"name":"SYSLINUX","source":"Syslinux wiki, Filesystem (4.00 and later)"},{"name":"U-Boot","source":"U-Boot, fs/fs.c"}],"largest_file":{"size":"16 TiB with blocks of 4 KiB","source":"Linux Documentation/filesystems/ext4/blocks.rst"},"largest_volume":{"size":"1 EiB","source":"Oracle Linux 9, Managing Local File Systems, Maximum File and File System Size"}},"source":"mke2fs(8), ext4(5), e2fsck(8) of e2fsprogs 1.47.0; tried on Debian 12, Linux 6.18","requires":{"kernel":"ext4","modules":["crc32c-intel","crc32c_generic","jbd2","mbcache","crc16","ext4"],"packages":["e2fsprogs"],"programs":["mke2fs","e2fsck"],"smallest":8388608,"largest":null},"commands":{"mkfs":["mke2fs","-q","-F","-t","ext4","{options}","{device}"],"mkfs_writes":{"bytes":33554432,"one_in":42},"mount":["mount","-i","-t","ext4","-o","{options}","{device}","{mountpoint}"],"umount":["umount","{mountpoint}"],"fsck":["e2fsck","-f","-n","{device}"],"fsck_clean":[0],"mkfs_options":["-E","nodiscard,lazy_itable_init=0,lazy_journal_init=0"],"mount_options":[],"version":["mke2fs","-V"]},"quirks":["Lazy initialisation of inode tables and journal is off (lazy_itable_init=0, lazy_journal_init=0): left on, a kernel thread writes them during the run. mkfs takes longer for it.","mke2fs heeds only the last -E: a contender with an -E of its own has to repeat these words.","mke2fs is told not to discard."],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":null}],"suites":[{"name":"fio","title":"fio 3.33","source":"fio-3.33.json","tests":[{"name":"fio","suite":"fio","title":"fio","rationale":"","space":0,"sweep":null,"phases":[{"name":"mixed-read","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate","group":"random-read"}},{"name":"mixed-write","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate","group":"random-write"}}]}]}],"profile":"study","rounds":1,"until":null,"seed":0,"size":0,"memory":null,"backend":"elsewhere","measured_by":{"program":"fio 3.33","source":"fio-3.33.json"},"clock":"real","guest":null,"device":null,"work_dir":"","stall_timeout":0,"phase_limit":0}',X'686d9bb428660edaa6771d7adfb2aef92164b184245b8da97faca0e163d33fcf');
INSERT INTO campaign VALUES(2,'hyperfine',0,'study','elsewhere','{"name":"hyperfine","contenders":[{"name":"true","filesystem":{"name":"true","title":"true","aliases":[],"driver":"kernel","facts":{},"source":"","requires":{"kernel":null,"modules":[],"packages":[],"programs":[],"smallest":0,"largest":null},"commands":{"mkfs":[],"mount":[],"umount":[],"fsck":[],"fsck_clean":[],"mkfs_options":[],"mount_options":[],"version":[]},"quirks":[],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":null},{"name":"sleep 0.01","filesystem":{"name":"sleep 0.01","title":"sleep 0.01","aliases":[],"driver":"kernel","facts":{},"source":"","requires":{"kernel":null,"modules":[],"packages":[],"programs":[],"smallest":0,"largest":null},"commands":{"mkfs":[],"mount":[],"umount":[],"fsck":[],"fsck_clean":[],"mkfs_options":[],"mount_options":[],"version":[]},"quirks":[],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":null}],"suites":[{"name":"hyperfine","title":"hyperfine","source":"hyperfine-1.15.json","tests":[{"name":"hyperfine","suite":"hyperfine","title":"hyperfine","rationale":"","space":0,"sweep":null,"phases":[{"name":"command","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"elapsed"}}]}]}],"profile":"study","rounds":3,"until":null,"seed":0,"size":0,"memory":null,"backend":"elsewhere","measured_by":{"program":"hyperfine","source":"hyperfine-1.15.json"},"clock":"real","guest":null,"device":null,"work_dir":"","stall_timeout":0,"phase_limit":0}',X'b0a006ad48c3a6d71b29cc3cd7344cac3870841d92630db496849a41795b72fd');
INSERT INTO campaign VALUES(3,'bonnie++',0,'study','elsewhere','{"name":"bonnie++","contenders":[{"name":"ext4","filesystem":{"name":"ext4","title":"ext4","aliases":[],"driver":"kernel","facts":{"origin":{"system":"Linux","source":"ext4(5) of e2fsprogs"},"read_by":[{"system":"linux","writes":true,"source":"filesystems(5) of the Linux man-pages"},{"system":"freebsd","writes":true,"source":"ext2fs(4) of FreeBSD"}],"booted_by":[{"name":"GRUB","source":"GNU GRUB manual, Features"},{"name":"SYSLINUX","source":"Syslinux wiki, Filesystem (4.00 and later)"},{"name":"U-Boot","source":"U-Boot, fs/fs.c"}],"largest_file":{"size":"16 TiB with blocks of 4 KiB","source":"Linux Documentation/filesystems/ext4/blocks.rst"},"largest_volume":{"size":"1 EiB","source":"Oracle Linux 9, Managing Local File Systems, Maximum File and File System Size"}},"source":"mke2fs(8), ext4(5), e2fsck(8) of e2fsprogs 1.47.0; tried on Debian 12, Linux 6.18","requires":{"kernel":"ext4","modules":["crc32c-intel","crc32c_generic","jbd2","mbcache","crc16","ext4"],"packages":["e2fsprogs"],"programs":["mke2fs","e2fsck"],"smallest":8388608,"largest":null},"commands":{"mkfs":["mke2fs","-q","-F","-t","ext4","{options}","{device}"],"mkfs_writes":{"bytes":33554432,"one_in":42},"mount":["mount","-i","-t","ext4","-o","{options}","{device}","{mountpoint}"],"umount":["umount","{mountpoint}"],"fsck":["e2fsck","-f","-n","{device}"],"fsck_clean":[0],"mkfs_options":["-E","nodiscard,lazy_itable_init=0,lazy_journal_init=0"],"mount_options":[],"version":["mke2fs","-V"]},"quirks":["Lazy initialisation of inode tables and journal is off (lazy_itable_init=0, lazy_journal_init=0): left on, a kernel thread writes them during the run. mkfs takes longer for it.","mke2fs heeds only the last -E: a contender with an -E of its own has to repeat these words.","mke2fs is told not to discard."],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":null}],"suites":[{"name":"bonnie++","title":"bonnie++ 2.00a","source":"bonnie-2.00.csv","tests":[{"name":"bonnie-chars","suite":"bonnie++","title":"size 8M, seeks 8192, seekers 5, processes 1","rationale":"","space":0,"sweep":null,"phases":[{"name":"write-chars","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"throughput","group":"stream-write"}},{"name":"read-chars","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"throughput","group":"stream-read"}}]},{"name":"bonnie-block","suite":"bonnie++","title":"size 8M, seeks 8192, seekers 5, processes 1","rationale":"","space":0,"sweep":null,"phases":[{"name":"write","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"throughput","group":"stream-write"}},{"name":"rewrite","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"throughput","group":"stream-write"}},{"name":"read","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"throughput","group":"stream-read"}},{"name":"seek","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate","group":"random-read"}}]},{"name":"bonnie-files","suite":"bonnie++","title":"1024s of files 1, processes 1","rationale":"","space":0,"sweep":null,"phases":[{"name":"create-seq","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate","group":"many-files"}},{"name":"stat-seq","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate","group":"names"}},{"name":"delete-seq","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate","group":"many-files"}},{"name":"create-random","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate","group":"many-files"}},{"name":"stat-random","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate","group":"names"}},{"name":"delete-random","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate","group":"many-files"}}]}]}],"profile":"study","rounds":2,"until":null,"seed":0,"size":0,"memory":null,"backend":"elsewhere","measured_by":{"program":"bonnie++ 2.00a","source":"bonnie-2.00.csv"},"clock":"real","guest":null,"device":null,"work_dir":"","stall_timeout":0,"phase_limit":0}',X'7c2a931113ea5d0acd51a0cf5e80af3f8e23bd78ede79cd11d8eb8671e5abee2');
INSERT INTO campaign VALUES(4,'mdtest',1583140364000000000,'study','elsewhere','{"name":"mdtest","contenders":[{"name":"x","filesystem":{"name":"x","title":"x","aliases":[],"driver":"kernel","facts":{},"source":"","requires":{"kernel":null,"modules":[],"packages":[],"programs":[],"smallest":0,"largest":null},"commands":{"mkfs":[],"mount":[],"umount":[],"fsck":[],"fsck_clean":[],"mkfs_options":[],"mount_options":[],"version":[]},"quirks":[],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":null}],"suites":[{"name":"mdtest","title":"mdtest 3.3.0","source":"mdtest-3.3.0.txt","tests":[{"name":"mdtest","suite":"mdtest","title":"1 tasks, 1000 files/directories","rationale":"","space":0,"sweep":null,"phases":[{"name":"directory-creation","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate"}},{"name":"directory-stat","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate"}},{"name":"directory-removal","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate"}},{"name":"file-creation","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate"}},{"name":"file-stat","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate"}},{"name":"file-read","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate"}},{"name":"file-removal","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate"}},{"name":"tree-creation","cache":"unstated","ends":"unstated","at_most":null,"scaling":null,"op":{"op":"elsewhere","metric":"rate"}}]}]}],"profile":"study","rounds":1,"until":null,"seed":0,"size":0,"memory":null,"backend":"elsewhere","measured_by":{"program":"mdtest 3.3.0","source":"mdtest-3.3.0.txt"},"clock":"real","guest":null,"device":null,"work_dir":"","stall_timeout":0,"phase_limit":0}',X'8c2cbbb71daf72e9f2e06a74dab69aaa9a6cf0fbf01e56bea38f525256a4dc00');
CREATE TABLE session (
    id          INTEGER PRIMARY KEY,
    campaign    INTEGER NOT NULL REFERENCES campaign (id),
    started     INTEGER NOT NULL,
    environment TEXT NOT NULL CHECK (json_valid(environment))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
INSERT INTO session VALUES(1,1,1795610280000000000,'{"program":"","kernel":"","distribution":"","cpu":"","cpus":0,"memory":0,"memory_goes_back":false,"caches":[],"device":"","attachment":"","clock":"","tools":[]}',X'5f3b0c834eb5b4f281b3ca527aac52f066b4a3fc0486f07f5b7f9560b1af206f');
INSERT INTO session VALUES(2,2,0,'{"program":"","kernel":"","distribution":"","cpu":"","cpus":0,"memory":0,"memory_goes_back":false,"caches":[],"device":"","attachment":"","clock":"","tools":[]}',X'3d7320bdfd31b8a3db13c4cbff3d6bc93c94160fd0969e7b41dc99cbd1b91738');
INSERT INTO session VALUES(3,3,0,'{"program":"","kernel":"","distribution":"","cpu":"","cpus":0,"memory":0,"memory_goes_back":false,"caches":[],"device":"","attachment":"","clock":"","tools":[]}',X'a9cfc10d7865dc20ba65603258255482ee4152f1680b6253cf8517a5bd9f0e38');
INSERT INTO session VALUES(4,4,1583140364000000000,'{"program":"","kernel":"","distribution":"","cpu":"","cpus":0,"memory":0,"memory_goes_back":false,"caches":[],"device":"","attachment":"","clock":"","tools":[]}',X'f4128b717266a9d36f34246bf534d94152b2b633cfff1900d99de19766a97e03');
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
INSERT INTO planned_cell VALUES(1,0,'ext4','fio','fio',1,'0',X'698e3374576203add6af14490bbcd24a0188d33a206e24cbe8c108167069dcd7');
INSERT INTO planned_cell VALUES(2,0,'true','hyperfine','hyperfine',1,'0',X'19afff6b778ac60eb0c42b963fdf6ea3d17f1773509f69772a841d37ff469934');
INSERT INTO planned_cell VALUES(2,1,'sleep 0.01','hyperfine','hyperfine',1,'0',X'f35a952d03a362a825b793209df7d040ceae3c7c01b7f16e5b3e5b03d46d752e');
INSERT INTO planned_cell VALUES(2,2,'true','hyperfine','hyperfine',2,'0',X'21ed394b82d6a378b7d37a6b739c8ec1505a5fad7d39c44b32312126d20819a4');
INSERT INTO planned_cell VALUES(2,3,'sleep 0.01','hyperfine','hyperfine',2,'0',X'2f36ecbd690f541d31f40cf33ae4763b6c341fec1bd53aa08f3f63061162889d');
INSERT INTO planned_cell VALUES(2,4,'true','hyperfine','hyperfine',3,'0',X'38765cafe6eb9f568f519d6bb5d4cea55c086623eb3f92bd2679c5e491a46ce3');
INSERT INTO planned_cell VALUES(2,5,'sleep 0.01','hyperfine','hyperfine',3,'0',X'19647d3add890531a43560a2a82d43c749ab415dd15c0acc18c612cf10e395a9');
INSERT INTO planned_cell VALUES(3,0,'ext4','bonnie++','bonnie-chars',1,'0',X'696319c197ae0164fd9dced3722dfe868bba2e64eb840e00fb3f3437f29cbbca');
INSERT INTO planned_cell VALUES(3,1,'ext4','bonnie++','bonnie-block',1,'0',X'139dc058036fb9af3ee0c668c9ca6862356727199e722697fac1fc96c54bda07');
INSERT INTO planned_cell VALUES(3,2,'ext4','bonnie++','bonnie-files',1,'0',X'bedf02c696ebba45a8a924aea66cf821a8c17a38b0f422156d5ab48e42d5bd2f');
INSERT INTO planned_cell VALUES(3,3,'ext4','bonnie++','bonnie-block',2,'0',X'5479c28db879faf64a936d1c21eea7910c1c8c1b7274980a613beebe414c88c4');
INSERT INTO planned_cell VALUES(4,0,'x','mdtest','mdtest',1,'0',X'1710c2a2f44306ee0ece36b92a3569d3fe600ebd8344d6dd33117acc1cf84b40');
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
INSERT INTO cell VALUES(1,0,1,'ok',1795610280000000000,0,'{"status":"ok","failure":null,"phases":[{"phase":"mixed-read","status":"ok","failure":null,"primary_metric":"rate","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"rate","value":15000.0},{"metric":"throughput","value":61440000.0},{"metric":"elapsed","value":0.001},{"metric":"latency-mean","value":0.00009096393333333334},{"metric":"latency-max","value":0.000244784},{"metric":"cpu","value":0.0}],"passes":[]},{"phase":"mixed-write","status":"ok","failure":null,"primary_metric":"rate","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"rate","value":17000.0},{"metric":"throughput","value":69632000.0},{"metric":"elapsed","value":0.001},{"metric":"latency-mean","value":3.818705882529412e-6},{"metric":"latency-max","value":8.793e-6},{"metric":"cpu","value":0.0}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":1795610280000000000,"elapsed":0,"from_cache":false,"remarks":[]}',X'0986dae2b2c00d768db0e7c38fbaa38cbca25fbecd28923710c5e9b5bb1ee67f');
INSERT INTO cell VALUES(2,0,2,'ok',0,0,'{"status":"ok","failure":null,"phases":[{"phase":"command","status":"ok","failure":null,"primary_metric":"elapsed","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"elapsed","value":0.00073362}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":0,"elapsed":0,"from_cache":false,"remarks":[]}',X'c11330fcfd6134566c06d9aae6ad13cdccce2c943b554721e362ff84bff8d425');
INSERT INTO cell VALUES(2,1,2,'ok',0,0,'{"status":"ok","failure":null,"phases":[{"phase":"command","status":"ok","failure":null,"primary_metric":"elapsed","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"elapsed","value":0.025492204}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":0,"elapsed":0,"from_cache":false,"remarks":[]}',X'ce5081ccd4dadeae2a81f86c35656437b5fd666dfffc11ddde8fa79a63e6b846');
INSERT INTO cell VALUES(2,2,2,'ok',0,0,'{"status":"ok","failure":null,"phases":[{"phase":"command","status":"ok","failure":null,"primary_metric":"elapsed","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"elapsed","value":0.002466625}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":0,"elapsed":0,"from_cache":false,"remarks":[]}',X'131d3d4670ac4e6720a38e3a40384a6639a7c8d6dfc9a0d0215711c0c18d7a7c');
INSERT INTO cell VALUES(2,3,2,'ok',0,0,'{"status":"ok","failure":null,"phases":[{"phase":"command","status":"ok","failure":null,"primary_metric":"elapsed","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"elapsed","value":0.025031529}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":0,"elapsed":0,"from_cache":false,"remarks":[]}',X'b9e2e9a2dc0d10137200122c59f434d3f39667f1ce0d68130ef0142c0d355698');
INSERT INTO cell VALUES(2,4,2,'ok',0,0,'{"status":"ok","failure":null,"phases":[{"phase":"command","status":"ok","failure":null,"primary_metric":"elapsed","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"elapsed","value":0.0007118780000000001}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":0,"elapsed":0,"from_cache":false,"remarks":[]}',X'682362e0afdc2a2a42774a2d9862c974f3766da298c9bf24002de94e8a940aee');
INSERT INTO cell VALUES(2,5,2,'ok',0,0,'{"status":"ok","failure":null,"phases":[{"phase":"command","status":"ok","failure":null,"primary_metric":"elapsed","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"elapsed","value":0.027979490000000003}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":0,"elapsed":0,"from_cache":false,"remarks":[]}',X'61714760c2d62ed75818f8cf51810396e2a808a8e5741756f38f127b4584baa0');
INSERT INTO cell VALUES(3,0,3,'ok',0,0,'{"status":"ok","failure":null,"phases":[{"phase":"write-chars","status":"ok","failure":null,"primary_metric":"throughput","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"throughput","value":584704.0},{"metric":"cpu","value":40.0},{"metric":"latency-max","value":0.033673}],"passes":[]},{"phase":"read-chars","status":"ok","failure":null,"primary_metric":"throughput","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"throughput","value":968704.0},{"metric":"cpu","value":42.0},{"metric":"latency-max","value":0.02963}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":0,"elapsed":0,"from_cache":false,"remarks":[]}',X'3e48ff3fbbb41c7da4e8018b8ea79eee92120ee9239fbbd8957d1ffeeed5473d');
INSERT INTO cell VALUES(3,1,3,'ok',0,0,'{"status":"ok","failure":null,"phases":[{"phase":"write","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.012064}],"passes":[]},{"phase":"rewrite","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.000044}],"passes":[]},{"phase":"read","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.000029999999999999997}],"passes":[]},{"phase":"seek","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.023146999999999997}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":0,"elapsed":0,"from_cache":false,"remarks":[]}',X'220300ec71b23b69e67b5048faca95659f975125dc0ecbf6b11b83175a5dfa45');
INSERT INTO cell VALUES(3,2,3,'ok',0,0,'{"status":"ok","failure":null,"phases":[{"phase":"create-seq","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.020146}],"passes":[]},{"phase":"stat-seq","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.000061}],"passes":[]},{"phase":"delete-seq","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.012048}],"passes":[]},{"phase":"create-random","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.014235999999999999}],"passes":[]},{"phase":"stat-random","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":6e-6}],"passes":[]},{"phase":"delete-random","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.008053}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":0,"elapsed":0,"from_cache":false,"remarks":[]}',X'c2312515e9ee6548ee7877b42c67b020c7e2e1b230caa8c9d17d5c8fa603c6de');
INSERT INTO cell VALUES(3,3,3,'ok',0,0,'{"status":"ok","failure":null,"phases":[{"phase":"write","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.018019}],"passes":[]},{"phase":"rewrite","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.0031049999999999997}],"passes":[]},{"phase":"read","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":4.9999999999999996e-6}],"passes":[]},{"phase":"seek","status":"ok","failure":null,"primary_metric":"latency-max","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"too_fast":true,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"latency-max","value":0.024669}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":0,"elapsed":0,"from_cache":false,"remarks":[]}',X'468366e369dbb4f2d4aec8d1648f7bc5fd3b59a9f6ac55ffc57b70d8815899cb');
INSERT INTO cell VALUES(4,0,4,'ok',1583140364000000000,0,'{"status":"ok","failure":null,"phases":[{"phase":"directory-creation","status":"ok","failure":null,"primary_metric":"rate","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"rate","value":25301.11}],"passes":[]},{"phase":"directory-stat","status":"ok","failure":null,"primary_metric":"rate","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"rate","value":183408.012}],"passes":[]},{"phase":"directory-removal","status":"ok","failure":null,"primary_metric":"rate","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"rate","value":24812.119}],"passes":[]},{"phase":"file-creation","status":"ok","failure":null,"primary_metric":"rate","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"rate","value":17391.332}],"passes":[]},{"phase":"file-stat","status":"ok","failure":null,"primary_metric":"rate","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"rate","value":181203.401}],"passes":[]},{"phase":"file-read","status":"ok","failure":null,"primary_metric":"rate","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"rate","value":66092.557}],"passes":[]},{"phase":"file-removal","status":"ok","failure":null,"primary_metric":"rate","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"rate","value":31250.905}],"passes":[]},{"phase":"tree-creation","status":"ok","failure":null,"primary_metric":"rate","cache":"unstated","ends":"unstated","wall":0,"operations":0,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":0,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":null,"space_before":null,"space_after":null,"device_size":null,"latency":[],"offered_rate":null,"verified":0,"stated":[{"metric":"rate","value":5518.821}],"passes":[]}],"steps":[],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":1583140364000000000,"elapsed":0,"from_cache":false,"remarks":[]}',X'4e7e8318317b05cadeb2482957799e8d994300a8a19ded3be8b94f325c889d79');
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
INSERT INTO phase VALUES(1,0,0,'mixed-read','ok','unstated');
INSERT INTO phase VALUES(1,0,1,'mixed-write','ok','unstated');
INSERT INTO phase VALUES(2,0,0,'command','ok','unstated');
INSERT INTO phase VALUES(2,1,0,'command','ok','unstated');
INSERT INTO phase VALUES(2,2,0,'command','ok','unstated');
INSERT INTO phase VALUES(2,3,0,'command','ok','unstated');
INSERT INTO phase VALUES(2,4,0,'command','ok','unstated');
INSERT INTO phase VALUES(2,5,0,'command','ok','unstated');
INSERT INTO phase VALUES(3,0,0,'write-chars','ok','unstated');
INSERT INTO phase VALUES(3,0,1,'read-chars','ok','unstated');
INSERT INTO phase VALUES(3,1,0,'write','ok','unstated');
INSERT INTO phase VALUES(3,1,1,'rewrite','ok','unstated');
INSERT INTO phase VALUES(3,1,2,'read','ok','unstated');
INSERT INTO phase VALUES(3,1,3,'seek','ok','unstated');
INSERT INTO phase VALUES(3,2,0,'create-seq','ok','unstated');
INSERT INTO phase VALUES(3,2,1,'stat-seq','ok','unstated');
INSERT INTO phase VALUES(3,2,2,'delete-seq','ok','unstated');
INSERT INTO phase VALUES(3,2,3,'create-random','ok','unstated');
INSERT INTO phase VALUES(3,2,4,'stat-random','ok','unstated');
INSERT INTO phase VALUES(3,2,5,'delete-random','ok','unstated');
INSERT INTO phase VALUES(3,3,0,'write','ok','unstated');
INSERT INTO phase VALUES(3,3,1,'rewrite','ok','unstated');
INSERT INTO phase VALUES(3,3,2,'read','ok','unstated');
INSERT INTO phase VALUES(3,3,3,'seek','ok','unstated');
INSERT INTO phase VALUES(4,0,0,'directory-creation','ok','unstated');
INSERT INTO phase VALUES(4,0,1,'directory-stat','ok','unstated');
INSERT INTO phase VALUES(4,0,2,'directory-removal','ok','unstated');
INSERT INTO phase VALUES(4,0,3,'file-creation','ok','unstated');
INSERT INTO phase VALUES(4,0,4,'file-stat','ok','unstated');
INSERT INTO phase VALUES(4,0,5,'file-read','ok','unstated');
INSERT INTO phase VALUES(4,0,6,'file-removal','ok','unstated');
INSERT INTO phase VALUES(4,0,7,'tree-creation','ok','unstated');
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
INSERT INTO measurement VALUES(1,0,0,'mixed-read','cpu','percent',0.0,'neutral','unstated');
INSERT INTO measurement VALUES(1,0,0,'mixed-read','elapsed','seconds',0.0010000000000000000208,'lower','unstated');
INSERT INTO measurement VALUES(1,0,0,'mixed-read','latency-max','seconds',0.00024478400000000000635,'lower','unstated');
INSERT INTO measurement VALUES(1,0,0,'mixed-read','latency-mean','seconds',9.0963933333333338434e-05,'lower','unstated');
INSERT INTO measurement VALUES(1,0,0,'mixed-read','rate','per-second',15000.0,'higher','unstated');
INSERT INTO measurement VALUES(1,0,0,'mixed-read','throughput','bytes-per-second',61440000.0,'higher','unstated');
INSERT INTO measurement VALUES(1,0,1,'mixed-write','cpu','percent',0.0,'neutral','unstated');
INSERT INTO measurement VALUES(1,0,1,'mixed-write','elapsed','seconds',0.0010000000000000000208,'lower','unstated');
INSERT INTO measurement VALUES(1,0,1,'mixed-write','latency-max','seconds',8.7930000000000003461e-06,'lower','unstated');
INSERT INTO measurement VALUES(1,0,1,'mixed-write','latency-mean','seconds',3.8187058825294120209e-06,'lower','unstated');
INSERT INTO measurement VALUES(1,0,1,'mixed-write','rate','per-second',17000.0,'higher','unstated');
INSERT INTO measurement VALUES(1,0,1,'mixed-write','throughput','bytes-per-second',69632000.0,'higher','unstated');
INSERT INTO measurement VALUES(2,0,0,'command','elapsed','seconds',0.0007336200000000000403,'lower','unstated');
INSERT INTO measurement VALUES(2,1,0,'command','elapsed','seconds',0.025492204000000000946,'lower','unstated');
INSERT INTO measurement VALUES(2,2,0,'command','elapsed','seconds',0.0024666250000000000675,'lower','unstated');
INSERT INTO measurement VALUES(2,3,0,'command','elapsed','seconds',0.025031529000000000279,'lower','unstated');
INSERT INTO measurement VALUES(2,4,0,'command','elapsed','seconds',0.00071187800000000009837,'lower','unstated');
INSERT INTO measurement VALUES(2,5,0,'command','elapsed','seconds',0.027979490000000002691,'lower','unstated');
INSERT INTO measurement VALUES(3,0,0,'write-chars','cpu','percent',40.0,'neutral','unstated');
INSERT INTO measurement VALUES(3,0,0,'write-chars','latency-max','seconds',0.033673000000000001541,'lower','unstated');
INSERT INTO measurement VALUES(3,0,0,'write-chars','throughput','bytes-per-second',584704.0,'higher','unstated');
INSERT INTO measurement VALUES(3,0,1,'read-chars','cpu','percent',42.0,'neutral','unstated');
INSERT INTO measurement VALUES(3,0,1,'read-chars','latency-max','seconds',0.029630000000000000087,'lower','unstated');
INSERT INTO measurement VALUES(3,0,1,'read-chars','throughput','bytes-per-second',968704.0,'higher','unstated');
INSERT INTO measurement VALUES(3,1,0,'write','latency-max','seconds',0.01206400000000000007,'lower','unstated');
INSERT INTO measurement VALUES(3,1,1,'rewrite','latency-max','seconds',4.3999999999999998855e-05,'lower','unstated');
INSERT INTO measurement VALUES(3,1,2,'read','latency-max','seconds',2.9999999999999997371e-05,'lower','unstated');
INSERT INTO measurement VALUES(3,1,3,'seek','latency-max','seconds',0.023146999999999997438,'lower','unstated');
INSERT INTO measurement VALUES(3,2,0,'create-seq','latency-max','seconds',0.020146000000000000712,'lower','unstated');
INSERT INTO measurement VALUES(3,2,1,'stat-seq','latency-max','seconds',6.0999999999999998719e-05,'lower','unstated');
INSERT INTO measurement VALUES(3,2,2,'delete-seq','latency-max','seconds',0.012047999999999999681,'lower','unstated');
INSERT INTO measurement VALUES(3,2,3,'create-random','latency-max','seconds',0.014235999999999998655,'lower','unstated');
INSERT INTO measurement VALUES(3,2,4,'stat-random','latency-max','seconds',6.0000000000000001517e-06,'lower','unstated');
INSERT INTO measurement VALUES(3,2,5,'delete-random','latency-max','seconds',0.0080529999999999993948,'lower','unstated');
INSERT INTO measurement VALUES(3,3,0,'write','latency-max','seconds',0.018019000000000000294,'lower','unstated');
INSERT INTO measurement VALUES(3,3,1,'rewrite','latency-max','seconds',0.0031049999999999996873,'lower','unstated');
INSERT INTO measurement VALUES(3,3,2,'read','latency-max','seconds',4.9999999999999995619e-06,'lower','unstated');
INSERT INTO measurement VALUES(3,3,3,'seek','latency-max','seconds',0.024668999999999999955,'lower','unstated');
INSERT INTO measurement VALUES(4,0,0,'directory-creation','rate','per-second',25301.110000000000582,'higher','unstated');
INSERT INTO measurement VALUES(4,0,1,'directory-stat','rate','per-second',183408.01199999998789,'higher','unstated');
INSERT INTO measurement VALUES(4,0,2,'directory-removal','rate','per-second',24812.118999999998778,'higher','unstated');
INSERT INTO measurement VALUES(4,0,3,'file-creation','rate','per-second',17391.331999999998515,'higher','unstated');
INSERT INTO measurement VALUES(4,0,4,'file-stat','rate','per-second',181203.40100000001257,'higher','unstated');
INSERT INTO measurement VALUES(4,0,5,'file-read','rate','per-second',66092.557000000000696,'higher','unstated');
INSERT INTO measurement VALUES(4,0,6,'file-removal','rate','per-second',31250.904999999998836,'higher','unstated');
INSERT INTO measurement VALUES(4,0,7,'tree-creation','rate','per-second',5518.8209999999999128,'higher','unstated');
CREATE TABLE calibration (
    campaign    INTEGER PRIMARY KEY REFERENCES campaign (id),
    taken       INTEGER NOT NULL,
    calibration TEXT NOT NULL CHECK (json_valid(calibration))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
CREATE TABLE imported (
    campaign INTEGER PRIMARY KEY REFERENCES campaign (id),
    digest   BLOB NOT NULL CHECK (length(digest) = 32)
) STRICT;
INSERT INTO imported VALUES(1,X'c936d34ef0ff66a57a3acc3bcc240413b069f29fa0baafa0e82a7d2f652123b6');
INSERT INTO imported VALUES(2,X'bfb1ab0677862661137f7224d74b59498b9d7b18469f91da06aea913f5cf16c0');
INSERT INTO imported VALUES(3,X'3ebfaef71179b6e426adafa7dfc42eccab719fcc02048780c6ac2d0e4dc2357f');
INSERT INTO imported VALUES(4,X'bca23fb4872b4775dd3605c31a10f7dbe0e368c599ecca9b97810c9afd97c7c0');
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
