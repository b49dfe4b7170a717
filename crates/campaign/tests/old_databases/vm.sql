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
INSERT INTO campaign VALUES(1,'vm',1795690496601645060,'smoke','vm','{"name":"vm","contenders":[{"name":"ext4@nvme-consumer","filesystem":{"name":"ext4","title":"ext4","aliases":[],"driver":"kernel","facts":{"origin":{"system":"Linux","source":"ext4(5) of e2fsprogs"},"read_by":[{"system":"linux","writes":true,"source":"filesystems(5) of the Linux man-pages"},{"system":"freebsd","writes":true,"source":"ext2fs(4) of FreeBSD"}],"booted_by":[{"name":"GRUB","source":"GNU GRUB manual, Features"},{"name":"SYSLINUX","source":"Syslinux wiki, Filesystem (4.00 and later)"},{"name":"U-Boot","source":"U-Boot, fs/fs.c"}],"largest_file":{"size":"16 TiB with blocks of 4 KiB","source":"Linux Documentation/filesystems/ext4/blocks.rst"},"largest_volume":{"size":"1 EiB","source":"Oracle Linux 9, Managing Local File Systems, Maximum File and File System Size"}},"source":"mke2fs(8), ext4(5), e2fsck(8) of e2fsprogs 1.47.0; tried on Debian 12, Linux 6.18","requires":{"kernel":"ext4","modules":["crc32c-intel","crc32c_generic","jbd2","mbcache","crc16","ext4"],"packages":["e2fsprogs"],"programs":["mke2fs","e2fsck"],"smallest":8388608,"largest":null},"commands":{"mkfs":["mke2fs","-q","-F","-t","ext4","{options}","{device}"],"mkfs_writes":{"bytes":33554432,"one_in":42},"mount":["mount","-i","-t","ext4","-o","{options}","{device}","{mountpoint}"],"umount":["umount","{mountpoint}"],"fsck":["e2fsck","-f","-n","{device}"],"fsck_clean":[0],"mkfs_options":["-E","nodiscard,lazy_itable_init=0,lazy_journal_init=0"],"mount_options":[],"version":["mke2fs","-V"]},"quirks":["Lazy initialisation of inode tables and journal is off (lazy_itable_init=0, lazy_journal_init=0): left on, a kernel thread writes them during the run. mkfs takes longer for it.","mke2fs heeds only the last -E: a contender with an -E of its own has to repeat these words.","mke2fs is told not to discard."],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":null,"own":{"disk":{"name":"nvme-consumer","title":"Solid-state disk behind NVMe","product":"Samsung SSD 970 EVO, 1 TB","command":18000,"link":3500000000,"queue":64,"cache":134217728,"forced":true,"mechanism":{"kind":"flash","read":41000,"program":730000,"erase":4000000,"unmap":30000,"controller":2000,"channel":640000000,"channels":8,"dies":4,"page":65536,"block":256,"spare":70,"protected":false,"state":"half"}}}},{"name":"hpfs@hdd-2007-15k-sas","filesystem":{"name":"hpfs","title":"HPFS","aliases":[],"driver":"kernel","facts":{"origin":{"system":"OS/2","source":"filesystems(5) of the Linux man-pages"},"read_by":[{"system":"linux","writes":true,"source":"Linux Documentation/filesystems/hpfs.rst"},{"system":"os2","writes":true,"source":"filesystems(5) of the Linux man-pages"}],"largest_file":{"size":"2 GB","source":"TechTarget, HPFS (High Performance File System)"},"largest_volume":{"size":"2 TiB by design, 64 GiB in OS/2","source":"DFSee, Filesystems: HPFS Features and limits"}},"source":"Linux fs/hpfs and Documentation/filesystems/hpfs.rst; `fsarena format --help`; tried on Linux 6.1 (Debian 12)","requires":{"kernel":"hpfs","modules":["hpfs"],"packages":["util-linux"],"programs":["blkid"],"smallest":1048576,"largest":1098437885952},"commands":{"mkfs":["{fsarena}","format","hpfs","--erase","{device}","--yes","{options}","{device}"],"mount":["mount","-i","-t","hpfs","-o","{options}","{device}","{mountpoint}"],"umount":["umount","{mountpoint}"],"fsck":[],"fsck_clean":[0],"mkfs_options":[],"mount_options":[],"version":[]},"quirks":["Made by fsarena itself, for no package has a program for it: a directory band of a hundredth of the volume (8 MiB at most) in the middle, code page 850.","Making a file longer by truncate gives EINVAL.","No checker exists for Linux; the driver verifies what it reads."],"unavailable":null,"only_in_guest":null,"only_when_named":null},"mkfs_options":[],"mount_options":[],"directory":null,"own":{"disk":{"name":"hdd-2007-15k-sas","title":"Hard disk of 2007, SAS, 15,000 turns a minute, write cache off","product":"Seagate Cheetah 15K.5, 146 GB (ST3146855SS)","command":100000,"link":300000000,"queue":64,"cache":0,"forced":true,"mechanism":{"kind":"rotating","turn":4000000,"seek_next":200000,"seek_average":3500000,"seek_full":7500000,"head_switch":300000,"write_settle":200000,"heads":4,"read_ahead":2097152,"age_weight":6,"zones":[{"cylinders":8282,"sectors":1093},{"cylinders":8282,"sectors":1042},{"cylinders":8282,"sectors":992},{"cylinders":8282,"sectors":941},{"cylinders":8282,"sectors":891},{"cylinders":8282,"sectors":840},{"cylinders":8282,"sectors":790},{"cylinders":8282,"sectors":739},{"cylinders":8282,"sectors":689},{"cylinders":8282,"sectors":638}]}}}}],"suites":[{"name":"metadata","title":"Metadata: names, attributes and links, from several threads","source":"mdtest 4.0 (of IOR), with the file size of its hard case in IO500; ext4 and XFS tests of large directories (fs_mark, T. Ts''o, D. Chinner)","tests":[{"name":"metadata-deep","suite":"metadata","title":"Files at the bottom of deep directories","rationale":"Every path leads through 32 directories inside each other before it comes to the file, and every call is given the whole path. The kernel remembers the names on the way, so a filesystem is asked for them only once; one that cannot trust that memory, as some drivers in user space, is asked again and again. The attributes begin with cold caches. Nearly all of it is CPU.","space":8388608,"sweep":null,"phases":[{"name":"create-deep","cache":"warm","ends":"syncfs","at_most":null,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"create","set":"deep","kind":"file","entries":128,"directories":1,"depth":16,"size":0,"order":"random","fsync":false,"threads":1,"sharing":"shared"}},{"name":"stat-deep","cache":"cold","ends":"call","at_most":20000000,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"metadata","set":"deep","action":"stat","read":false,"order":"random","threads":1}},{"name":"open-deep","cache":"warm","ends":"call","at_most":20000000,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"metadata","set":"deep","action":"open","order":"random","threads":1}},{"name":"delete-deep","cache":"warm","ends":"syncfs","at_most":null,"scaling":{"at_least":1000000,"width":1.0,"passes":10,"limit":20000000},"op":{"op":"metadata","set":"deep","action":"remove","order":"random","threads":1}}]}]}],"profile":"smoke","rounds":1,"until":null,"seed":9,"size":536870912,"memory":805306368,"backend":"vm","clock":"virtual","guest":{"memory":805306368,"processors":1,"accelerator":"tcg","cpu":"Westmere-v1,-vme","disks":1,"disk":{"kind":"model","model":{"name":"nvme-consumer","title":"Solid-state disk behind NVMe","product":"Samsung SSD 970 EVO, 1 TB","command":18000,"link":3500000000,"queue":64,"cache":134217728,"forced":true,"mechanism":{"kind":"flash","read":41000,"program":730000,"erase":4000000,"unmap":30000,"controller":2000,"channel":640000000,"channels":8,"dies":4,"page":65536,"block":256,"spare":70,"protected":false,"state":"half"}}},"kernel":"6.1.0-56-amd64","made":"guest-0d52dda9e1c8dfed"},"device":null,"work_dir":"/var/tmp/old-databases-m1mqK0","stall_timeout":120000000000,"phase_limit":600000000000}',X'9135267b97ae789164b5afb1aa41243418a1c2ff55ced0786991c13ae8f373b4');
CREATE TABLE session (
    id          INTEGER PRIMARY KEY,
    campaign    INTEGER NOT NULL REFERENCES campaign (id),
    started     INTEGER NOT NULL,
    environment TEXT NOT NULL CHECK (json_valid(environment))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
INSERT INTO session VALUES(1,1,1795690496680505467,'{"program":"0.1.0","kernel":"Linux 6.1.0-56-amd64 in a guest","distribution":"Debian GNU/Linux 12 (bookworm)","cpu":"a model (QEMU''s Westmere-v1,-vme), an instruction a nanosecond","cpus":1,"memory":805306368,"memory_goes_back":false,"caches":[],"device":"disk of 512 MiB after the model nvme-consumer (flash, 32 dies, a write cache of 128 MiB), or hdd-2007-15k-sas (an arm, 15000 turns a minute, no write cache)","attachment":"in the guest''s own memory","clock":"virtual time","tools":[{"program":"qemu-system-x86_64","version":"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)"}]}',X'4d18b2d49a5b08b6d5544afd1abb4e0eec8020544dbbdc3e49772fddc5b9a2d1');
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
INSERT INTO planned_cell VALUES(1,0,'hpfs@hdd-2007-15k-sas','metadata','metadata-deep',1,'3058170328699632682',X'c263b5a5b4a47f69c7fa693e8e9e01c7dc5b1208baa547ba0722e87e229290aa');
INSERT INTO planned_cell VALUES(1,1,'ext4@nvme-consumer','metadata','metadata-deep',1,'3058170328699632682',X'2ec3acf7fcc313317c52737b08f8fba2ed2b501e0743fd1a3fa2a9abe38d1e4e');
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
INSERT INTO cell VALUES(1,0,1,'ok',1795690496681455041,11782462778,'{"status":"ok","failure":null,"phases":[{"phase":"create-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"syncfs","wall":26129308,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":9175000,"driver":0,"machine":0},"faults":{"minor":2,"major":0},"device":{"reads":0,"read_bytes":0,"writes":5,"write_bytes":123392,"flushes":0,"discards":0,"discard_bytes":0},"disk":{"requests":5,"seeks":4,"metadata":0,"flagged":0,"bytes":123392,"depths":15,"outside":9101165,"command":100000,"seek":10362331,"rotation":5484712,"transfer":1081100,"flash":0,"collection":0,"flush":0,"waiting":0,"slots_written":0,"slots_programmed":0,"own":909946,"lost":0},"space_before":{"total":536870912,"free":531247616,"available":531247616,"inodes":2621,"inodes_free":2604},"space_after":{"total":536870912,"free":531182080,"available":531182080,"inodes":2621,"inodes_free":2599},"device_size":536870912,"memory":{"kernel":364544},"latency":[[46271,1],[47167,1],[47359,1],[47807,1],[49663,1],[49759,1],[50687,1],[50719,1],[50911,1],[51231,1],[51711,1],[51839,1],[51999,1],[52095,1],[52159,2],[52287,1],[53535,1],[53663,1],[54783,2],[55167,2],[56031,1],[56127,1],[56671,1],[56895,1],[57727,1],[58271,1],[59071,1],[59295,1],[59743,1],[60127,1],[60319,1],[60991,1],[62463,1],[62687,1],[62911,1],[63359,1],[64063,1],[64159,1],[64191,1],[64415,2],[64767,1],[64831,1],[64991,1],[65471,1],[65727,1],[65855,1],[66111,1],[66367,1],[66495,1],[66623,2],[66687,1],[66943,1],[67007,1],[67135,2],[67391,1],[67519,1],[67775,1],[67903,1],[68095,1],[68415,1],[68479,2],[68671,1],[68863,1],[69375,2],[69759,1],[69951,1],[70015,1],[70079,1],[70271,1],[70399,2],[70463,1],[70719,1],[70783,1],[71039,1],[71231,1],[71551,1],[71807,1],[71871,1],[71935,1],[72191,1],[72447,1],[72639,1],[72831,1],[73023,1],[73215,1],[73471,1],[73855,1],[73919,1],[73983,1],[74239,2],[74367,1],[74687,1],[74751,1],[74879,1],[75007,2],[75391,1],[75583,1],[76415,3],[76479,1],[76735,1],[77375,1],[77503,2],[77823,1],[78079,1],[78143,1],[78207,1],[78271,1],[80255,1],[80383,1],[84159,1],[99775,1],[103103,1],[104959,1],[106431,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"stat-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"cold","ends":"call","wall":20341909,"operations":5,"bytes":0,"bytes_written":0,"cut_short":true,"cpu":{"user":0,"system":1168000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":{"reads":7,"read_bytes":114688,"writes":0,"write_bytes":0,"flushes":0,"discards":0,"discard_bytes":0},"disk":{"requests":7,"seeks":4,"metadata":0,"flagged":0,"bytes":114688,"depths":7,"outside":1135660,"command":700000,"seek":2982728,"rotation":14606957,"transfer":916564,"flash":0,"collection":0,"flush":0,"waiting":0,"slots_written":0,"slots_programmed":0,"own":1017385,"lost":0},"space_before":{"total":536870912,"free":531182080,"available":531182080,"inodes":2621,"inodes_free":2599},"space_after":{"total":536870912,"free":531182080,"available":531182080,"inodes":2621,"inodes_free":2599},"device_size":536870912,"memory":{"kernel":356352},"latency":[[32927,1],[221055,1],[223999,1],[3792895,1],[16072703,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"open-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"call","wall":21242286,"operations":59,"bytes":0,"bytes_written":0,"cut_short":true,"cpu":{"user":519000,"system":1686000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":{"reads":9,"read_bytes":31744,"writes":0,"write_bytes":0,"flushes":0,"discards":0,"discard_bytes":0},"disk":{"requests":9,"seeks":1,"metadata":0,"flagged":0,"bytes":31744,"depths":9,"outside":2194203,"command":900000,"seek":300000,"rotation":17474133,"transfer":373950,"flash":0,"collection":0,"flush":0,"waiting":0,"slots_written":0,"slots_programmed":0,"own":82305,"lost":0},"space_before":{"total":536870912,"free":531182080,"available":531182080,"inodes":2621,"inodes_free":2599},"space_after":{"total":536870912,"free":531182080,"available":531182080,"inodes":2621,"inodes_free":2599},"device_size":536870912,"memory":{"kernel":364544},"latency":[[20927,1],[20991,1],[21183,1],[21455,1],[21471,1],[30031,1],[30463,1],[31199,1],[31295,1],[31599,1],[31663,1],[31903,1],[32047,1],[32159,1],[32191,1],[32335,1],[32383,1],[32479,1],[32543,1],[32575,1],[32607,1],[32687,1],[32735,1],[32751,2],[32799,1],[32831,1],[32927,1],[32959,1],[32991,1],[33055,5],[33119,1],[33151,1],[33183,1],[33215,1],[33407,1],[33567,1],[33727,1],[33887,1],[33951,1],[34111,1],[34367,1],[34431,2],[34463,1],[34751,1],[168575,1],[188031,1],[408063,1],[1055743,1],[3299327,1],[3411967,1],[3573759,1],[3661823,1],[3893247,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"delete-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"syncfs","wall":32782138,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":502000,"system":5421000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":{"reads":3,"read_bytes":1536,"writes":5,"write_bytes":50176,"flushes":0,"discards":0,"discard_bytes":0},"disk":{"requests":8,"seeks":5,"metadata":0,"flagged":0,"bytes":51712,"depths":18,"outside":5853573,"command":400000,"seek":10601040,"rotation":15474931,"transfer":452594,"flash":0,"collection":0,"flush":0,"waiting":0,"slots_written":0,"slots_programmed":0,"own":69421,"lost":0},"space_before":{"total":536870912,"free":531182080,"available":531182080,"inodes":2621,"inodes_free":2599},"space_after":{"total":536870912,"free":531255808,"available":531255808,"inodes":2621,"inodes_free":2620},"device_size":536870912,"memory":{"kernel":372736},"latency":[[31999,1],[32063,1],[32271,1],[32415,1],[32431,1],[32527,1],[32863,1],[33183,1],[33279,1],[33503,1],[33631,2],[33727,1],[33791,1],[33823,2],[33919,3],[33951,1],[34015,4],[34143,1],[34207,2],[34271,1],[34335,1],[34367,1],[34399,1],[34431,1],[34495,1],[34623,1],[34719,1],[34783,1],[34815,2],[34879,1],[34943,1],[34975,1],[35039,1],[35135,1],[35167,1],[35199,1],[35263,2],[35359,1],[35423,2],[35871,1],[35903,1],[36351,1],[36511,1],[36575,1],[36703,1],[36735,1],[36831,1],[37215,1],[37439,1],[37663,1],[37695,1],[38047,1],[38111,1],[38527,1],[38559,1],[38623,1],[38655,1],[38687,1],[39103,1],[39135,1],[39167,1],[39231,2],[39327,1],[39391,2],[39423,1],[39615,1],[39679,1],[39743,1],[39807,3],[39903,2],[39935,3],[39967,1],[40063,1],[40095,1],[40159,1],[40191,1],[40287,2],[40415,1],[40479,1],[40543,1],[40639,1],[40895,1],[41087,2],[41119,1],[41343,1],[41535,2],[41567,1],[41599,1],[42367,2],[42687,1],[43039,1],[44511,1],[45983,1],[46047,1],[46527,1],[46591,2],[46911,1],[47679,1],[54111,1],[55583,1],[58783,1],[62207,1],[3377151,1],[3393535,1],[3821567,1]],"offered_rate":null,"verified":0,"passes":[]}],"steps":[{"step":"mkfs","command":["/init","format","hpfs","--erase","/dev/fsd0","--yes","/dev/fsd0"],"exit":0,"signal":null,"elapsed":298739102,"output":"hpfs on /dev/fsd0: 1048576 blocks of 512 B, 1037609 free"},{"step":"mount","command":["mount","-i","-t","hpfs","-o","nosuid,nodev","/dev/fsd0","/mnt"],"exit":0,"signal":null,"elapsed":15649065,"output":""},{"step":"umount","command":["umount","/mnt"],"exit":0,"signal":null,"elapsed":10864445,"output":""},{"step":"mount","command":["mount","-i","-t","hpfs","-o","nosuid,nodev","/dev/fsd0","/mnt"],"exit":0,"signal":null,"elapsed":17266822,"output":""},{"step":"umount","command":["umount","/mnt"],"exit":0,"signal":null,"elapsed":7356394,"output":""}],"mounted":{"kernel":163840},"journal":[{"phase":null,"packed":"ASi1L/1g4grdMAB6WcgVSFBc2gH3j2Ui2QuGz2X/3drkuHtt5f+3C/ntxlJc7Od+pevMsCTUho7wt/+G5ui9vkT50k6NKygFmLjQhFxCYaxAbTuySSlTCkcBTwFFATptA6LK6B2e8b9CCtXIOcWAcY1JytcyElgChKxozJKUZJhcdNzbh4OTuZ7VXrQ1jx3tBPq1YRVOtFWWx1b2sXQ+KOklLdqsPISI/qE6Msczo3EY+1JiOHc00+qDOTnC5f0ELXgrTFVgAxGGqq3ktNXcuzDfGpX3BNkVQTXaOVtZcKYtNtDziqtR7SzdFA6VfjRkHP40fre4KDiUGC0VNvGnz1ezcsGhQx6SE4xTgew3ZxMPS9Lf7zICkErrQz04dEgHMRHDpWR6DETDpdk6i1ULDw/ZxSwrPu3aV9yGOFtT/QQmDn9Ca6woGZeKayisGA41srFaWvwpVCcxh7hUrK4KybjzjobL0sShQjbQSw6HhtlU2GUEoNYOOuHCn80ai1EMhxo/2YwOfzb54p8m+HPnk5VXXK3Z01atHY5lVCJwY5lwFzK2SDpNglz35TovyaoD0llch8GgyPWP9OVb+RJl5/os9kny4pJr7v+UPK3Ntka3ENfP7b5mmMA9obDmQnSaqNIaIrHWjBrRZV6J0KLNgehq23pIkqk6YFXPNjxRzRqcyuEM0qMlTtXHy4UfMNgC0SmmEEWVm1AEByMgm7hAEJJCeYDkwjWoHk0ZhOG5soCKiahgyg60icJeHbCKrQoYcc3V+Gj50nC3XwOEQ94ZKNa6AEpdsgD0rJdMkRPaU+YAY7Relr/JWP1hYFZbJ7bdmnbHFqVUk7r3co8w2b2Xh3zPw/AP8zbLmZSyEY20OkjBey8viWoumV0ZvzXDJFWJjlC4VeAg1pfcVHLOqSWM8lp6p9g6a/Tey3RQ0/Xey19OKnvv5T8eKrr3spDg072XeYzP7r0cZAzr3sv2kkuQ7zqly7smnWLC4LIHdLsBUGCaNC9NP0iX5X8X05E/8oTpf1Cs+x1NtPx/+uz4v9XD9P9ZJPJ/CLvjJTBBeQdINC+hR+tt6Plvok1+79AqQxXv36ucar2ImaOnm6On+322GL9V+uQDCa/8q7W6G/q2xpLTX1K//B0llQYRt+za9oVlUBnnqt88Gv80fwuCpgyCpiTyPPtmWSEPHReMra9/hGXsO3HqckPf/rMrU4sdC2Prq8WObbFj6fyolKGK13saKMwohs7wxVCORQ5xxfhOxfTnBJagr6mMKWstO7O/iUb+P/hBeKCggI2DBjcJGCw4IDMzoEdTYwABgAAxtwAfAZ5d05/+v9/P/36/Gl9T48L3e72fL4FPhy/v+XJf/pOeUiAF+e914x3QRSIojORFuxggDMbmLLa5yXWas1hArtdncYGzGOcs9uW6nes2Z/HNtJfrvVzHOYvtPN7AmtauJmecN10xSlC/bi0GKI73Bd9FMt6XzDaXi3hfMK+55TW3trnMa3bZ5nLYi32M2sdoHSbbx+i9JbarSRtMNzMJk2szE/sYXbAElNqy0suumoeNrATkS3uTpqxSukC+tBQrXUC+9JJLjBaO2QW/yAH5/jGWOw3orlazG/PBtP8yK01IvFu8N+EVhkgUcIa06M/pFk9QFf0g9qyEjhsKLfpvCozTdaXjSlsAe7VAlMJAzHphDRKyU/WRyLo4uF8OQ08VbUAXuvnA0ZIBM+s/e3J+Mdfyq8C2KNiefVBy3W77p2ZF0GnR8KRJBN2YQXbrg63UKYkS97fRMN9hKux/kRHX/yhpT/5XsSH5GbQqPsHalQ/xVucRIOn8dwPT+m9GpORfzJH5EDxIj+G85Gcchf1Hqkn5LxXS8t+rJ8r/4BeX/8OpKh9PIMACs6J0T6jM8ocFWTCs2CsEosmY4QmF4di2w7HhJU4r6MGFGKUsVzY8MB6G2gwHiWxTmXxofuFFki2CRuvOtXYu5jDYjjmw8/g8vOM3SZ12ugJ+J0W7LDUyWx7qHK5hxyfOwpmU0WrRUXMVIB6bKjVfvqt8aQgpRrg51VyHuaNWHVnTzJzA3Kw5HWurlq+7zuseywVphHM4Y7jhFk4MlzUuNAU="},{"phase":"create-deep","packed":"ASi1L/1gfgNdGADkLCe4xra5DIbzA87dBI6HBeioBMiqEd2DDcbwPPz/CIvCBL/aE/KqCp3gDs/XDfmaF8q7Epu0BN/eCbSKHPnkBMThOYLMBMf+Dpz3BOKhD47NBM6dBbK4iASz8PgD//kK/ZYnu/QX7PtD1o2yXcDLpxCsngKjhwKELqq5AarzwQKPxaMDh9KoBIC9pwWs5KwGi+WnB++0qgjLiu0J/NTSCpOTrgunteAMnJnLDbi83Q6Im6EQkuSKEtiznBS+l50Wr7OhGLeVmRqvtJYc366MHrvNjh+66rQgkNWIIYbsqCKE3bAj9rOwJKTlkySe16En68fVKL29syrB8OQrxafWLoWuxwLIqbQCmOHlBIa17QXg36AGlKmOCDDA/wPwD4+ADPD/M/D/B4+ABI+AEAwUBI+ACPD/F4+ABPD/L/D/AwPw/wuHj4AgN///N+3/P4alQcmnAdgB4KABBAgEAZABDFAEIAECAwQFCQYTFRQQEg8MBwsKCA4NGRoXGBscHSAgHhYRHwEBBQIDBACgjQbm+PMBgt0/gt0/ka9Dgt0/iuB7o9Js6L/dAaGRZI2DSvSehAHXx1/HyHKK1G6b0IoBiuB7ka9DxNxa0PiXAf7kRriF4QGNg0rw/HmNg0qK4Hv2jE2MhVCXw5YBkO5So9Js2fXEAfzSkwGT7IYCwaqBAvbYgwKS3DkAktw59fpGyYkigPpF0po8gPpFgoYG3MsNzbUBv88DtfAMqYwijZkO76AW3KJMvLtRn5GdAcWeuQGH4KIB++Rr5v2xAZ+pL6rvN7CkItzmCbe1Kam4OuG1L7nGT+PDO732PuqKA5/ND/vdiQGtqDmc1Sywsweaz0nxyx3RvbMBr3Ld5AHe5AH37wH27wHKmALPqdeJAsqYgvyC/AHXibu8AqbSptIC7OoC98MB7YcD7eoC0KkCy5iljAHLHMC6J/CkA+v1FaaMAQAZIFACduYBImVQWkdwxfYwtvFx+2hhvIN6yEi74DyRuv8TL0GDXSxAyyw3Z7dbRIlJ27CcHsMayCGspg==","timed":[[1777924943,1804054251]]},{"phase":"stat-deep","packed":"ASi1L/1grwStHQBENjOqwI3ADciSiRPGmeUD8LsOhoYP3OUP2vAOypQU+LDXB9yqiQO68APOzgS66wToqASQsBLdig7WwD2gngmv4ATdkRPuwwmDzg7F7A2TnBfmvBLprwTNjwnuthv55AT4wTrOxwT7qQ7O+wTuyA6OzQTengWO0fwC8brtAqnICqu2J5XcF9jXRM7cplzS6cYG0NfvA/zyqgPAiKME4LvLA7iO/QOqqxvw5xu8oOkDkrnxAcqaBqHWrOjdA+HprwGF9PwBkMfeAsjb4wOr1OIE1/vnBdK54gb2zOUHyvqnCem1jQqSg+kK9YCbDKyYhg27spgOxpvcD53lxRGVtNcT4pXYFYqK3Bf1ldQZ7bTRG4P/xh35n8ke0pLvH4/7wiC/vuMhva/rIueF6yPnqpQkgMLcJuKZkCiLn+4p/MWfK4rPkC6OrscCz8raAZnzxwHp3IICgIPeAYHW+AHK4gfK4gfSsuMBIiMeABzOAQCUo0G3pQH3gEDA/wPwD4+ADPD/M/D/B4+ABI+AEAwUBI+ACPD/F4+ABPD/L/D/AwPw/wuHj4AgN///N+CjAZejAcCiAd+iAcyhASwuLwEQTAQIBExMEEwQEBAIEQAgAAAAACABAgMEBQkGExUUEBIPDAcLCggODRkaFxgbHB0gIB4WER8BAKCNBvbYgwK2vvcB0sEt5vjzAYLdP4LdP5GvQ4LdP4rge6PSbOi/3QGhkWSNg0r0noQB18dfx8hyitRum9CKAYrge5GvQ8TcWtD4lwH+5Ea4heEBjYNK8Px5jYNKiuB79oxNjIVQl8OWAZDuUqPSbNn1xAH80pMBk+yGAtLBLQAAANud3wGnj+vA69sBqbFn0PsByYkigPpF0po8gPpFgoYG3MsNzbUBv88DtfAMqYwijZkO76AW3KJMvLtRn5GdAcWeuQGH4KIB++Rr5v2xAZ+pL6rvN7CkItzmCbe1Kam4OuG1L7nGT+PDO732PuqKA5/ND/vdiQG2qDmXkpIB4bp/4tzKAcnKlQH61cABAADnjNsByxzLHKoNgUmqDZaxBMbpFK9y3eQB3uQB9+8B9u8BypgCz6nXiQLKmIL8gvwB14m7vAKm0qbSAuzqAvfDAe2HA+3qAtCpAsuYpYwBxukUxukUlbEExarVAarVAcuYAgAiIGAChVUdFSIk769ezBGEphGLiRlb4CQ0g6JTI5mA1hq68tAHa0wOeeKomXhz8hU3xKyPgRfJp9nenNZuMSXm24bl5BjawFAARdZoYhQN","timed":[[1956609127,1976951036]]},{"phase":"open-deep","packed":"ASi1L/0g5CUFACQJCfKh8eMO+KyIAZiqG5qCxgPC7jyI0rwD6PJTprmsA5a5mgSVxjughQfm6toB3tkS7MnWAfXPBpfuzAGxneoB8ZfGAaKmQSxpmAF9TA0JUQsJCxAEBQIDASABAKCNBuCnEq6PIADf29EBAKewzwEA5JrGAfWm4wHI578B54EDgHjngQO+zAyljAHVQpNGnGmJIwAGAIGzMKl36MCAd+Cx7AVR","timed":[[1983612767,2004855053]]},{"phase":"delete-deep","packed":"ASi1L/0g440FAPQJCMSzoIAPhp7IA6yYswOA6awGhp4Co4cChC6quQHL4ckBxtvKAaf+5AGWkZcCzr+lBOec0AXBx4MG9ZDxB9imQW8Dx6VBpKVByaUB2AHgoAEMUAQgICABBQIDBACgjQbAmgwAAPbYgwKS3DkAktw54Za3AZ2rxAH9zd4BtY4NvMELxdhs8csd0b2zAYojiSOKI8sciSPwpAPr9RWmjAEABgCHK7hjj+4PkDUggy5gBg==","timed":[[2011272759,2044054897]]}],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":1795690496681455041,"elapsed":11782462778,"from_cache":false,"remarks":["open-deep was to be served from memory, and 31 KiB came from the device"]}',X'0b4de03db846b96520fed7cde1ff6a2b9467153aa1df8e4e1e3f2338a77cb3e6');
INSERT INTO cell VALUES(1,1,1,'ok',1795690496681526382,12377669422,'{"status":"ok","failure":null,"phases":[{"phase":"create-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"syncfs","wall":9067684,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":7145000,"driver":0,"machine":10000000},"faults":{"minor":4,"major":0},"device":{"reads":0,"read_bytes":0,"writes":9,"write_bytes":266240,"flushes":1,"discards":0,"discard_bytes":0},"disk":{"requests":10,"seeks":0,"metadata":126976,"flagged":13,"journal":139264,"bytes":266240,"depths":20,"outside":7375201,"command":112030,"seek":0,"rotation":0,"transfer":76065,"flash":736400,"collection":0,"flush":767988,"waiting":0,"slots_written":65,"slots_programmed":80,"own":166105,"lost":0},"space_before":{"total":510873600,"free":510783488,"available":473206784,"inodes":32768,"inodes_free":32741},"space_after":{"total":510873600,"free":510783488,"available":473206784,"inodes":32768,"inodes_free":32613},"device_size":536870912,"memory":{"kernel":430080},"latency":[[32319,1],[32895,1],[33247,1],[33983,1],[34591,1],[34911,1],[35263,1],[35615,1],[35871,1],[35903,1],[36159,1],[36703,1],[37215,1],[37503,1],[37823,1],[38047,1],[39199,1],[39263,1],[39583,1],[39839,1],[40063,1],[40511,1],[40543,1],[40831,1],[41023,1],[41279,1],[42143,1],[42367,1],[42943,1],[43199,1],[43711,1],[44255,1],[44575,1],[44671,1],[44863,1],[45055,1],[45215,1],[45663,1],[46079,1],[46271,1],[46495,2],[47167,1],[47583,1],[47679,1],[48031,1],[48319,1],[48735,1],[48863,1],[49343,1],[49727,1],[49983,1],[50079,1],[50271,1],[50623,1],[51263,1],[51327,1],[51583,1],[51935,1],[52255,1],[52863,1],[52927,1],[53119,1],[53535,1],[53855,1],[54431,1],[54879,1],[55519,1],[55775,1],[56287,1],[56447,1],[56895,1],[57119,1],[57279,1],[57471,1],[57983,1],[58335,1],[58623,1],[59711,1],[59807,1],[59967,1],[59999,1],[60159,1],[60415,1],[60575,1],[60895,1],[61183,1],[61535,1],[61599,1],[61887,1],[62079,1],[62207,1],[63103,1],[63199,1],[63711,1],[64127,1],[64799,1],[64927,1],[65471,1],[65919,1],[66431,1],[66623,1],[66687,1],[67007,1],[67327,1],[68159,2],[68351,1],[68479,1],[68927,1],[69183,1],[69503,1],[69887,1],[70079,1],[70271,1],[70591,1],[70975,1],[71231,1],[71423,1],[72063,1],[72447,1],[73471,1],[73855,1],[75199,1],[75327,1],[81087,1],[83327,1],[98239,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"stat-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"cold","ends":"call","wall":4506290,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":0,"system":3345000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":{"reads":16,"read_bytes":65536,"writes":0,"write_bytes":0,"flushes":0,"discards":0,"discard_bytes":0},"disk":{"requests":16,"seeks":0,"metadata":65536,"flagged":23,"journal":0,"bytes":65536,"depths":16,"outside":3441170,"command":288000,"seek":0,"rotation":0,"transfer":102400,"flash":656000,"collection":0,"flush":0,"waiting":18720,"slots_written":4,"slots_programmed":80,"own":292612,"lost":0},"space_before":{"total":510873600,"free":510783488,"available":473206784,"inodes":32768,"inodes_free":32613},"space_after":{"total":510873600,"free":510783488,"available":473206784,"inodes":32768,"inodes_free":32613},"device_size":536870912,"memory":{"kernel":438272},"latency":[[16927,1],[17007,1],[17039,1],[17199,1],[17263,1],[17407,1],[17503,1],[17631,1],[17679,1],[17759,1],[17855,1],[18079,1],[18111,1],[18207,1],[18303,1],[18399,1],[18543,1],[18767,2],[18927,1],[19199,1],[19279,1],[19359,1],[19439,1],[19455,1],[19631,1],[19647,1],[19695,1],[19727,1],[19871,1],[20143,1],[20271,1],[20303,1],[20319,1],[20463,1],[20703,1],[20719,1],[20847,1],[20895,1],[21023,1],[21151,1],[21167,1],[21407,1],[21567,1],[21647,1],[21743,1],[21759,1],[21807,2],[22015,1],[22143,1],[22223,1],[22431,1],[22607,1],[22639,1],[22847,2],[22879,1],[22959,2],[23183,1],[23375,1],[23407,1],[23439,1],[23519,1],[23567,1],[23951,1],[24047,1],[24159,1],[24287,1],[24351,1],[24479,1],[24559,1],[24687,1],[24783,1],[24863,1],[25039,1],[25071,1],[25135,1],[25215,1],[25311,1],[25535,1],[25551,1],[25615,1],[25759,1],[25807,1],[26031,1],[26047,1],[26079,1],[26191,1],[26319,1],[26591,1],[26607,1],[26751,1],[26783,1],[26831,1],[26895,1],[26927,1],[27087,1],[27215,1],[27439,1],[27471,1],[27567,1],[27599,1],[27679,1],[27759,1],[27903,1],[28015,1],[28159,1],[28207,1],[28287,1],[28671,1],[28815,1],[28831,1],[28975,1],[29119,1],[29167,1],[29279,1],[29359,1],[29423,1],[29503,1],[29535,1],[29759,1],[29903,1],[30287,1],[30527,1],[34399,1],[1511423,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"open-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"call","wall":1807016,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":1681000,"system":127000,"driver":0,"machine":0},"faults":{"minor":0,"major":0},"device":{"reads":0,"read_bytes":0,"writes":0,"write_bytes":0,"flushes":0,"discards":0,"discard_bytes":0},"disk":{"requests":0,"seeks":0,"metadata":0,"flagged":0,"journal":0,"bytes":0,"depths":0,"outside":1807016,"command":0,"seek":0,"rotation":0,"transfer":0,"flash":0,"collection":0,"flush":0,"waiting":0,"slots_written":0,"slots_programmed":0,"own":0,"lost":0},"space_before":{"total":510873600,"free":510783488,"available":473206784,"inodes":32768,"inodes_free":32613},"space_after":{"total":510873600,"free":510783488,"available":473206784,"inodes":32768,"inodes_free":32613},"device_size":536870912,"memory":{"kernel":446464},"latency":[[13967,4],[13991,11],[14015,69],[14031,6],[14055,28],[14071,1],[14175,2],[14199,2],[14215,2],[16111,1],[16127,1],[18431,1]],"offered_rate":null,"verified":0,"passes":[]},{"phase":"delete-deep","status":"ok","failure":null,"primary_metric":"rate","cache":"warm","ends":"syncfs","wall":8020882,"operations":128,"bytes":0,"bytes_written":0,"cut_short":false,"cpu":{"user":3508000,"system":2511000,"driver":0,"machine":10000000},"faults":{"minor":0,"major":0},"device":{"reads":2,"read_bytes":8192,"writes":8,"write_bytes":139264,"flushes":1,"discards":0,"discard_bytes":0},"disk":{"requests":11,"seeks":0,"metadata":69632,"flagged":10,"journal":77824,"bytes":147456,"depths":21,"outside":6237051,"command":130030,"seek":0,"rotation":0,"transfer":52586,"flash":818400,"collection":0,"flush":780475,"waiting":2340,"slots_written":34,"slots_programmed":48,"own":93544,"lost":0},"space_before":{"total":510873600,"free":510783488,"available":473206784,"inodes":32768,"inodes_free":32613},"space_after":{"total":510873600,"free":510849024,"available":473272320,"inodes":32768,"inodes_free":32757},"device_size":536870912,"memory":{"kernel":385024},"latency":[[31663,3],[31807,1],[31887,1],[31903,1],[31983,1],[32015,2],[32095,2],[32287,2],[32303,2],[32399,1],[32623,1],[32639,1],[32655,1],[32687,1],[32767,1],[32927,1],[33087,2],[33151,1],[33247,1],[33311,1],[33535,1],[33567,1],[33791,1],[34015,1],[34047,1],[34079,1],[34207,2],[34303,1],[34495,1],[34527,1],[34751,2],[34911,1],[34943,1],[35071,1],[35103,1],[35135,1],[35167,1],[35327,2],[35391,1],[35455,1],[36191,1],[36351,1],[36383,1],[36799,2],[36831,1],[37023,2],[37119,1],[37311,2],[37407,2],[37663,2],[37887,1],[37951,1],[38207,2],[38335,1],[38399,2],[38463,1],[38623,1],[38847,1],[38911,1],[39327,1],[39743,1],[39807,1],[40159,2],[40607,1],[40799,1],[40863,1],[40895,1],[40959,1],[41247,1],[41311,1],[41471,1],[41503,3],[41823,1],[42111,1],[42623,1],[42751,1],[42943,1],[43135,1],[43455,1],[43551,1],[43775,1],[43999,1],[44607,1],[45183,1],[45279,1],[45471,2],[45631,1],[45855,1],[45919,1],[46239,1],[47007,1],[47711,1],[47903,1],[48351,1],[48479,1],[49023,1],[49439,1],[49887,1],[50079,1],[51167,1],[52319,1],[52895,1],[53215,1],[53823,1],[56479,1],[92095,1],[125887,1]],"offered_rate":null,"verified":0,"passes":[]}],"steps":[{"step":"mkfs","command":["mke2fs","-q","-F","-t","ext4","-E","nodiscard,lazy_itable_init=0,lazy_journal_init=0","/dev/fsd0"],"exit":0,"signal":null,"elapsed":18707917,"output":""},{"step":"mount","command":["mount","-i","-t","ext4","-o","nosuid,nodev","/dev/fsd0","/mnt"],"exit":0,"signal":null,"elapsed":3474726,"output":""},{"step":"umount","command":["umount","/mnt"],"exit":0,"signal":null,"elapsed":5731719,"output":""},{"step":"mount","command":["mount","-i","-t","ext4","-o","nosuid,nodev","/dev/fsd0","/mnt"],"exit":0,"signal":null,"elapsed":3192553,"output":""},{"step":"umount","command":["umount","/mnt"],"exit":0,"signal":null,"elapsed":5372771,"output":""},{"step":"fsck","command":["e2fsck","-f","-n","/dev/fsd0"],"exit":0,"signal":null,"elapsed":20218182,"output":"e2fsck 1.47.0 (5-Feb-2023)\nPass 1: Checking inodes, blocks, and sizes\nPass 2: Checking directory structure\nPass 3: Checking directory connectivity\nPass 4: Checking reference counts\nPass 5: Checking group summary information\n/dev/fsd0: 11/32768 files (0.0% non-contiguous), 6353/131072 blocks"}],"mounted":{"kernel":180224},"journal":[{"phase":null,"packed":"ASi1L/1gpgNtEQDEHTOwrongDI6jqQHC6FGIhqAFpM0M7o8ViIUS6ucSro9K+qETgq1HsuIm0II2suIm+o0rpKGBAbSYTrLiJrLiJv7PC7SSG7zJJLLiJoToDerDzLMSkskkkskksMgWrogVwOMpgrCcAej5OIiyHpScHPJF6jSaY6ZAoPgFpNcEzoTXAciPBNy87QHg87UBipALzuAKxtgPwPkP0LAUmbETmbETiMQj0IwBiogE9J4CmbET7aEcmbET5YQcsrsu4pUB4+0fkskk/cgkrbwj9OwuyO8u+OIt2+02jO49vs5Fp4FD2bEa4pUBhugFhqgB4pUBvcMBlKT0ngHdsGnilQHghS7p+QecgQSKiPKOLgCAwH///38AAPD9f+/2fwD//wHAgAKQ9j0A//8j8P8/j4BgEDDw/wGQ9h3g/x/w/x+fgGAADwA7BwDwCOD2P4+AQIAQgBAAAAiAAYAQCAiAEAgIkAQYCDAQCBAACAAgAggREQICABEBIBFBUQAAEVERAhECIAgIIAhAFQECAQIBAgICAgMEBAQDBAUBANCMAQDJpBLJpBIAAIAypJIBgDKSCYAyALbbBLYbkgntNqQSkgmkEgCSCQCAlgGAMpIJqMACqMACkPksALi3IgCNpGgAJCCQAkeVA+gb8UOCk8hurgpcOYhIjYKAT2II2h8k7wEwvICUTZRyi4ItodpQ6AjRfAGhHOUGrotIpmVYosSBuTe2GTmwLCAeKw2cgBjEMw=="},{"phase":"create-deep","packed":"ASi1L/1gQwCdBgCkCw6+0dz8DOrwCpT7DtIo4LDrB4T+EMq3DPitYe70bqgypCrAK4B+sOQCiogEm6EH4pUBmbEDxPwv8o4u9J4B4pWG6AGYsgH0ngKQiQLPgAJPELD3PwCPhECQhECfhEDwBzAw4P4BUAgICBAIgAIACBAICFAIgAEICCgoWVkCXRkBAQECAQIDBAUBANCMAQCAMmSSCcmkAgCSCaQSkgmSCbZbkgmkkgGowAIAAACQ+SwA9O8uAAAAAAAAAAogsIIPLJNqdDWGgpXDlaEfB7GMDqwM","timed":[[1742815140,1751882824]]},{"phase":"stat-deep","packed":"ASi1L/1g/QFNCABkDCGgpZiODYC+kwHoiQboiQai0QjCuQOGgF64mQOSnWHcwosM7pEL1t0KgP0QgnGeqBeG6hTY7akC5oAlwqoLxP0Lsqqas6qtC/isC/SrC4qtC7SqC8SJDPrpC76qC56rC+DBM9CMAfKOLvKOLpyBBIqInOEH8dEJiogE8o4uAICAQI+AQAsHAIAJnwHg9j+JAlAACAAICAIICEgIAl0CXR0ICCAgCEAVCAECAQAAkgkAkgmSCYAywgOQ+SyQ+SyowAIAkLUyAB8gkIJXDWMaQvwyBvqAuwxtAC2UADIF2nDbG6JHsikw4iD85iEcAymBkBycxBhQTHFwyoSKSVoex4iqF4GDwTsD","timed":[[1778797860,1783304150]]},{"phase":"delete-deep","packed":"ASi1L/0g/JUFAOQJC5TW/rINgrP8BJrNaYinDZbiCJbQYrj5ZqgypCrAK+Z9iogEiogE4pUBhqgCi94w8o4u9J4B4pWG6AGlsgHQCE/g9z8An4JAoIJAr4JA8AcwMOD+AQgICIgBAAgQCAhQCAgIWVkCXRkBAgMEBQDQjAEAgDKAMpIJtpsBAJIJpBKSCZIJtluSCajAAqjAAgAAAJD5LAC70S8AAAAAAAAHILCCD0se35UYQIUMsI1adA8=","timed":[[1798250742,1806271624]]}],"features":{},"kernel_log":[],"kernel_log_readable":true,"started":1795690496681526382,"elapsed":12377669422,"from_cache":false,"remarks":[]}',X'799952ebc84d4ef1b3f1b19deac0018f9ae18fba3764f2f44d4c54ecea201a2e');
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
INSERT INTO measurement VALUES(1,0,0,'create-deep','cpu','percent',35.113826971613640638,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','cpu-per-operation','seconds',7.1679687500000006743e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','device-flushes','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','device-read','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','device-written','bytes',123392.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','elapsed','seconds',0.026129308000000000394,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-max','seconds',0.00010643099999999999793,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-mean','seconds',6.7284250000000005512e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p50','seconds',6.7903000000000003611e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p90','seconds',7.7503000000000006565e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p95','seconds',8.0254999999999996479e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p99','seconds',0.00010495899999999999576,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p999','seconds',0.00010643099999999999793,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','latency-p9999','seconds',0.00010643099999999999793,'lower','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','memory-kernel','bytes',364544.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','minor-faults','count',2.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','rate','per-second',4898.7137355493687207,'higher','warm');
INSERT INTO measurement VALUES(1,0,0,'create-deep','space-taken','bytes',65536.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','cpu','percent',5.7418406502555878745,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','cpu-driver','percent',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','cpu-per-operation','seconds',0.00023359999999999998604,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','device-flushes','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','device-read','bytes',114688.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','device-written','bytes',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','elapsed','seconds',0.020341908999999998297,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-above-10s','percent',0.0,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-above-2s','percent',0.0,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-max','seconds',0.016072703000000000683,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-mean','seconds',0.0040687157999999999311,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p50','seconds',0.00022399900000000000799,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p90','seconds',0.016072703000000000683,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p95','seconds',0.016072703000000000683,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p99','seconds',0.016072703000000000683,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p999','seconds',0.016072703000000000683,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','latency-p9999','seconds',0.016072703000000000683,'lower','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','major-faults','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','memory-kernel','bytes',356352.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','minor-faults','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','rate','per-second',245.79797304176321404,'higher','cold');
INSERT INTO measurement VALUES(1,0,1,'stat-deep','space-taken','bytes',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,0,2,'open-deep','cpu','percent',10.380238737017286609,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','cpu-per-operation','seconds',3.7372881355932199886e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','device-flushes','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','device-read','bytes',31744.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','device-written','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','elapsed','seconds',0.021242285999999999113,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-max','seconds',0.0038932469999999998536,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-mean','seconds',0.00036007628813559315692,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p50','seconds',3.2991000000000003124e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p90','seconds',0.0010557430000000000459,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p95','seconds',0.0035737590000000001369,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p99','seconds',0.0038932469999999998536,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p999','seconds',0.0038932469999999998536,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','latency-p9999','seconds',0.0038932469999999998536,'lower','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','memory-kernel','bytes',364544.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','rate','per-second',2777.4788457325166747,'higher','warm');
INSERT INTO measurement VALUES(1,0,2,'open-deep','space-taken','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','cpu','percent',18.06776604991413393,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','cpu-per-operation','seconds',4.627343749999999567e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','device-flushes','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','device-read','bytes',1536.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','device-written','bytes',50176.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','elapsed','seconds',0.032782138000000002331,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-max','seconds',0.0038215670000000001062,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-mean','seconds',0.00012020862499999998107,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p50','seconds',3.8111000000000001537e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p90','seconds',4.6047000000000001449e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p95','seconds',5.4110999999999997425e-05,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p99','seconds',0.003393535000000000041,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p999','seconds',0.0038215670000000001062,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','latency-p9999','seconds',0.0038215670000000001062,'lower','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','memory-kernel','bytes',372736.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','rate','per-second',3904.5653459210011534,'higher','warm');
INSERT INTO measurement VALUES(1,0,3,'delete-deep','space-taken','bytes',-73728.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','cpu','percent',78.796305649821945849,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','cpu-per-operation','seconds',5.5820312500000002415e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','device-flushes','count',1.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','device-read','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','device-written','bytes',266240.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','elapsed','seconds',0.0090676839999999994668,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-max','seconds',9.8239000000000005902e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-mean','seconds',5.4405249999999995497e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p50','seconds',5.3535000000000001587e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p90','seconds',7.059100000000000227e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p95','seconds',7.34710000000000018e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p99','seconds',8.3326999999999996886e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p999','seconds',9.8239000000000005902e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','latency-p9999','seconds',9.8239000000000005902e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','memory-kernel','bytes',430080.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','minor-faults','count',4.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','rate','per-second',14116.063153502042041,'higher','warm');
INSERT INTO measurement VALUES(1,1,0,'create-deep','space-taken','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','cpu','percent',74.229576880316173515,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','cpu-driver','percent',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','cpu-per-operation','seconds',2.6132812499999999087e-05,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','device-flushes','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','device-read','bytes',65536.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','device-written','bytes',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','elapsed','seconds',0.0045062899999999996014,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-above-10s','percent',0.0,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-above-2s','percent',0.0,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-max','seconds',0.0015114230000000000199,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-mean','seconds',3.5195875000000004608e-05,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p50','seconds',2.3439000000000000389e-05,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p90','seconds',2.9119000000000000217e-05,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p95','seconds',2.9535000000000000976e-05,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p99','seconds',3.4399000000000000485e-05,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p999','seconds',0.0015114230000000000199,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','latency-p9999','seconds',0.0015114230000000000199,'lower','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','major-faults','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','memory-kernel','bytes',438272.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','minor-faults','count',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','rate','per-second',28404.740928790648468,'higher','cold');
INSERT INTO measurement VALUES(1,1,1,'stat-deep','space-taken','bytes',0.0,'neutral','cold');
INSERT INTO measurement VALUES(1,1,2,'open-deep','cpu','percent',100.0544544154562061,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','cpu-per-operation','seconds',1.4124999999999999439e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','device-flushes','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','device-read','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','device-written','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','elapsed','seconds',0.0018070160000000000475,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-max','seconds',1.8431000000000000225e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-mean','seconds',1.4097249999999999579e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p50','seconds',1.4015000000000000493e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p90','seconds',1.405500000000000011e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p95','seconds',1.4199000000000000764e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p99','seconds',1.6126999999999999923e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p999','seconds',1.8431000000000000225e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','latency-p9999','seconds',1.8431000000000000225e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','memory-kernel','bytes',446464.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','rate','per-second',70835.011975544213782,'higher','warm');
INSERT INTO measurement VALUES(1,1,2,'open-deep','space-taken','bytes',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','cpu','percent',75.041622604596355471,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','cpu-driver','percent',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','cpu-per-operation','seconds',4.7023437500000000348e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','device-flushes','count',1.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','device-read','bytes',8192.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','device-written','bytes',139264.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','elapsed','seconds',0.0080208820000000000116,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-above-10s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-above-2s','percent',0.0,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-max','seconds',0.00012588700000000000952,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-mean','seconds',3.9965624999999997354e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p50','seconds',3.7663000000000001761e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p90','seconds',4.8479000000000001206e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p95','seconds',5.2318999999999998319e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p99','seconds',9.2095000000000005087e-05,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p999','seconds',0.00012588700000000000952,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','latency-p9999','seconds',0.00012588700000000000952,'lower','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','major-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','memory-kernel','bytes',385024.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','minor-faults','count',0.0,'neutral','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','rate','per-second',15958.344730666776741,'higher','warm');
INSERT INTO measurement VALUES(1,1,3,'delete-deep','space-taken','bytes',-65536.0,'neutral','warm');
CREATE TABLE calibration (
    campaign    INTEGER PRIMARY KEY REFERENCES campaign (id),
    taken       INTEGER NOT NULL,
    calibration TEXT NOT NULL CHECK (json_valid(calibration))
, digest BLOB CHECK (length(digest) = 32)) STRICT;
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
