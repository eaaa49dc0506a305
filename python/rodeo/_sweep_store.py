"""Results of a sweep in a file: a study of Optuna with a trial for each run."""
import fcntl
import json
import re
import warnings

# Reasons that another call does not change. Runs without memory, or that data refused, are tried again.
_FINAL = re.compile(r"not finite|loss is -?(nan|inf)")
_ANOTHER = "delete the file, or name another with --storage"


def _optuna():
    try:
        import optuna
        from optuna.storages.journal import JournalFileBackend  # noqa: F401
    except ImportError:
        raise ImportError("a sweep needs Optuna 4 or later: pip install 'optuna>=4', or the extra rodeo[sweep]") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    return optuna


def key_of(run: dict) -> str:
    """Identifies a run, whatever the order of its options is."""
    return json.dumps(run, sort_keys=True)


class SweepStore:
    """Outcomes by run. A run is {"options": ..., "seed": ...}; an outcome has `val` and others, or `failed`: the reason.

    Only one process may have the file open. A run is added by one write, so that a crash leaves whole runs.
    """

    def __init__(self, path: str, shared: dict):
        """`shared`: options of all trials. Raises ValueError for a file with results of others, or that is no storage."""
        self._optuna, self._path, self._file = _optuna(), path, open(path, "a+b")
        try:
            self._lock()
            self._drop_cut_line()
            self._read(shared)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._outcomes)

    def outcome(self, run: dict):
        """None if there is none. Of several the last counts."""
        return self._outcomes.get(key_of(run))

    def is_done(self, run: dict) -> bool:
        outcome = self.outcome(run)
        return outcome is not None and ("failed" not in outcome or bool(_FINAL.search(outcome["failed"])))

    def add(self, run: dict, outcome: dict, values: dict) -> None:
        """`values`: {option: all values that are tried}."""
        done = "failed" not in outcome
        self._study.add_trial(self._optuna.trial.create_trial(
            state=self._optuna.trial.TrialState.COMPLETE if done else self._optuna.trial.TrialState.FAIL,
            value=outcome["val"] if done else None, params=run["options"],
            distributions={name: self._distribution(values[name]) for name in run["options"]},
            user_attrs={"run": run, "outcome": outcome}))
        self._outcomes[key_of(run)] = outcome

    def _lock(self):
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{self._path}: another sweep is writing it: wait for its end, or name another file with --storage") from None

    def _drop_cut_line(self):
        """A crash of the machine may leave a part of a line at the end."""
        self._file.seek(0)
        content, begin = self._file.read(), b'{"op_code"'
        if not content.startswith(begin) and not begin.startswith(content):
            raise ValueError(f"{self._path}: is no storage of a sweep: {_ANOTHER}")
        self._file.truncate(content.rfind(b"\n") + 1)

    def _read(self, shared):
        try:
            storage = self._optuna.storages.JournalStorage(self._optuna.storages.journal.JournalFileBackend(self._path))
            self._study = self._optuna.create_study(study_name="sweep", storage=storage, direction="maximize", load_if_exists=True)
            then = self._study.user_attrs.get("options")
            trials = self._study.get_trials(deepcopy=False)
            self._outcomes = {key_of(trial.user_attrs["run"]): trial.user_attrs["outcome"] for trial in trials}
        except (KeyError, TypeError, ValueError, AssertionError):
            raise ValueError(f"{self._path}: is no storage of a sweep: {_ANOTHER}") from None
        if then is None:
            self._study.set_user_attr("options", shared)
            then = shared
        for name in sorted({**shared, **then}):
            before, now = (f"{name} {options[name]}" if name in options else f"no {name}" for options in (then, shared))
            if before != now:
                raise ValueError(f"{self._path}: is of trials with {before}, and these have {now}: {_ANOTHER}")

    def _distribution(self, values):
        """A range for numbers, which may grow; with a logarithm if the largest is at least 20 times the least."""
        distributions = self._optuna.distributions
        if any(isinstance(value, (str, bool)) for value in values):
            return distributions.CategoricalDistribution(list(dict.fromkeys(values)))
        low, high = min(values), max(values)
        kind = distributions.IntDistribution if all(isinstance(value, int) for value in values) else distributions.FloatDistribution
        return kind(low, high, log=low > 0 and high >= 20 * low)
