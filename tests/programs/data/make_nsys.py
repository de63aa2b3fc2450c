#!/usr/bin/env python3
"""Writes nsys_report.sqlite beside itself: a small, invented export in the schema of Nsight Systems 2024.
It also writes three files that a reader must not follow: two whose texts are a view that counts without end, with
and without rows, and one with a column that computes long texts.
The report has two processes of one H200 with equal correlation ids. One calls an operator within ranges, as PyTorch's
emit_nvtx writes them, and replays a graph that was recorded as a whole. The other copies to the GPU and fills memory.
"""
import pathlib
import sqlite3

path = pathlib.Path(__file__).with_name("nsys_report.sqlite")
path.unlink(missing_ok=True)
base = sqlite3.connect(path)
base.executescript("""
PRAGMA page_size = 512;
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INT, id INT, name TEXT, totalMemory INT, smCount INT, computeMajor INT, computeMinor INT, cuDevice INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT, correlationId INT, nameId INT, returnValue INT);
CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, rangeId INT, text TEXT, globalTid INT, textId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT,
  demangledName INT, shortName INT, registersPerThread INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT,
  staticSharedMemory INT, dynamicSharedMemory INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT, bytes INT, copyKind INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT, bytes INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT, graphId INT);
""")
first, second = 100 << 24, 200 << 24
base.executemany("INSERT INTO StringIds VALUES (?, ?)", [
    (1, "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"), (2, "cudaLaunchKernel_v7000"), (3, "cudaMemcpyAsync_v3020"),
    (4, "forward"), (5, "void my_kernel<float>(float*)"), (6, "cudaGraphLaunch_v10000")])
base.execute("INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'NVIDIA H200', 150109880320, 132, 9, 0, 0)")
base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)", [
    (1100, 1200, first + 7, 1, 2), (1500, 1600, first + 7, 2, 2), (1700, 1750, first + 7, 3, 6), (1100, 1900, second + 9, 1, 3)])
base.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, 0, ?, ?, ?)", [
    (1000, 2000, 59, None, first + 7, 4),
    (1050, 1300, 59, "aten::mm, op_id = 7, sizes = [[2048, 2048], [2048, 8192]]", first + 7, None),
    (1400, 1650, 59, "loss", first + 7, None),
    (1450, None, 34, "a mark", first + 7, None)])
base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, 5, 168, ?, 1, 1, 384, 1, 1, 1024, 2048)", [
    (2000, 92000, 1, first, 1, 256), (93000, 95000, 2, first, 5, 64)])
base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (3000, 23000, 0, 8, 1, ?, 1048576, 1)", (second,))
base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (24000, 25000, 0, 8, 9, ?, 4096)", (second,))
base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (96000, 99000, 0, 7, 3, ?, 5)", (first,))
base.commit()
base.execute("VACUUM")
base.close()

COUNT = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id, 'name' AS value FROM c"
HOSTILE = {
    "endless_view": f"CREATE VIEW StringIds AS {COUNT};",
    "silent_view": f"CREATE VIEW StringIds AS {COUNT} WHERE x < 0;",
    "computed_texts": """CREATE TABLE StringIds (id INTEGER, value AS (hex(zeroblob(3000))));
        WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100) INSERT INTO StringIds(id) SELECT x FROM c;""",
}
for name, script in HOSTILE.items():
    other = path.with_name(name + ".sqlite")
    other.unlink(missing_ok=True)
    report, base = sqlite3.connect(path), sqlite3.connect(other)
    report.backup(base)
    base.execute("DROP TABLE StringIds")
    base.executescript(script)
    base.commit()
    base.execute("VACUUM")
    base.close()
