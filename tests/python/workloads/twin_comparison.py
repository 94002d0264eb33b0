"""Running a plugin and its twin in Python over the same records."""

from typing import Callable, Iterable, List, NamedTuple, Optional

from plugin_abi import LoadedPlugin


class Verdict(NamedTuple):
    kind: str  # "emitted", "filtered" or "failed"
    output: bytes


def verdict_of(twin: Callable[[bytes], Optional[bytes]], record: bytes) -> Verdict:
    try:
        output = twin(record)
    except ValueError:
        return Verdict("failed", b"")
    return Verdict("filtered", b"") if output is None else Verdict("emitted", output)


class Pair:
    """A plugin, with its fast path and without it, and the twin that it must agree with."""

    def __init__(self, path: str, twin: Callable[[bytes], Optional[bytes]], config: str, strict_config: str):
        self.twin = twin
        self._plugins = {
            kind: LoadedPlugin(path, text.encode()) for kind, text in [("usual", config), ("strict", strict_config)]
        }

    def compare(self, records: Iterable[bytes], batch_records: int = 500) -> List[Verdict]:
        """What the twin says of each record, after a check that the plugin says the same."""
        records = list(records)
        verdicts = [verdict_of(self.twin, record) for record in records]
        for at in range(0, len(records), batch_records):
            batch = slice(at, at + batch_records)
            for kind, plugin in self._plugins.items():
                self._compare_batch(kind, plugin, records[batch], verdicts[batch])
        return verdicts

    @staticmethod
    def _compare_batch(kind: str, plugin: LoadedPlugin, records: List[bytes], verdicts: List[Verdict]) -> None:
        outcome = plugin.run(records)
        failed = set(outcome.failed)
        assert len(outcome.records) == len(records)
        for index, (record, output, verdict) in enumerate(zip(records, outcome.records, verdicts)):
            what = f"{kind} path, {verdict.kind} by the twin, failed by the plugin: {index in failed}\n{record!r}"
            assert output == verdict.output, what
            assert (index in failed) == (verdict.kind == "failed"), what
        counted = [verdict.kind for verdict in verdicts]
        assert (outcome.emitted, outcome.filtered) == (counted.count("emitted"), counted.count("filtered"))
