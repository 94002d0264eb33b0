"""What a fresh process does, and how long each step takes it; latency.py runs this text by ``python -c``.

Arguments: a subject (``python``, ``executor``, ``thread``, ``process``, ``function``), the number of workers, and a
file of records. Prints seconds of each step and the results as JSON. Imports nothing but what the subject needs: the
import is one of the steps.
"""

import json
import sys
import time

subject, workers, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
times = [time.perf_counter()]
results = []


def passed(result=None):
    times.append(time.perf_counter())
    if result is not None:
        results.append([bytes(record).decode() for record in result])


if subject == "executor":
    from concurrent.futures import ProcessPoolExecutor

    passed()
    with open(path, "rb") as file:
        lines = file.read().splitlines()
    with ProcessPoolExecutor(workers) as pool:
        passed()
        for _ in range(2):
            passed(list(pool.map(bytes.upper, lines, chunksize=len(lines))))
elif subject != "python":
    import gristmill as gm

    passed()
    payload = bytes.upper if subject == "function" else "upper"
    options = {"isolation": "thread"} if subject == "thread" else {}
    with gm.Engine(workers=workers) as engine:
        passed()
        for _ in range(2):
            passed(engine.map(payload, path, **options))

print(json.dumps({"steps": [after - before for before, after in zip(times, times[1:])], "results": results}))
