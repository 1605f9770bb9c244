"""A cluster: the same bits for any number of workers, whoever dies."""

import asyncio
import contextlib
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from outside import Barrier, Dispersed, LazyUpdates, Quadratic
from problems import paper_lda, sparse_counts
from scipy import sparse

from isotopic import LDA, NMF, PLSA, Beta, Checkpoint, GammaPoisson, TopicModel, open_blocks

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
array, bag = pytest.importorskip("dask.array"), pytest.importorskip("dask.bag")

calls = pytest.importorskip("isotopic.dask.cluster")
stress = pytest.importorskip("stress_dask")

# Dask's own complaints: a port that is taken, a worker that was killed on purpose.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return sparse_counts(np.random.default_rng(0), 160, 60, 0.3)


@pytest.fixture(scope="module")
def shards(X, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    for i in range(8):
        sparse.save_npz(folder / f"{i}.npz", X[20 * i : 20 * (i + 1)])
    return folder


@pytest.fixture(scope="module")
def cluster():
    # Workers are forked from a process that has imported everything, so that they start at once.
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context().set_forkserver_preload(["distributed", "isotopic"])
        with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def blocks(shards, client=None):
    return open_blocks(shards, client=client, block_entries=1)


def same_bits(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("components_", "weights_", "objective_")
    )


def copied(model):
    return pickle.loads(pickle.dumps(model))


MODELS = [
    NMF(3, normalize=False),
    PLSA(3, solver="joint"),
    GammaPoisson(3, solver="alternating", init="random"),
    LDA(3),
]


WORKERS = 3


def _iterations(model):
    """As few as show something: priors learn after twenty."""
    return 24 if isinstance(model, LDA) and model.alpha == "auto" else 6


def test_same_bits_for_any_number_of_workers(cluster, client, shards, X):
    fitted = [
        m.set_params(max_iter=_iterations(m), tol=0, random_state=0).fit(blocks(shards))
        for m in MODELS
    ]
    alone = [copied(model) for model in fitted]
    for workers in (1, WORKERS):
        cluster.scale(workers)
        client.wait_for_workers(workers, timeout=300)
        for model, one in zip(MODELS, alone, strict=True):
            assert same_bits(model.fit(blocks(shards, client)), one)
    for model, one in zip(MODELS, alone, strict=True):
        model.fit(X)
        np.testing.assert_allclose(one.components_, model.components_, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(one.objective_, model.objective_, rtol=1e-12)


def test_priors_from_outside_on_workers(client, shards):
    model = TopicModel(3, weights=Quadratic(0.3), topics=Barrier(0.2), max_iter=6, tol=0)
    alone = copied(model.set_params(random_state=0).fit(blocks(shards)))
    assert same_bits(model.fit(blocks(shards, client)), alone)
    assert np.array_equal(model.transform(shards, client=client), alone.transform(shards))


@pytest.mark.parametrize(
    "settings",
    [
        {"solver": LazyUpdates()},
        {"divergence": Dispersed(2.0), "solver": "alternating"},
        {"divergence": Beta(0.5), "solver": "joint"},
    ],
    ids=str,
)
def test_solvers_and_divergences_on_workers(client, shards, settings):
    model = TopicModel(3, max_iter=6, tol=0, random_state=0, **settings)
    alone = copied(model.fit(blocks(shards)))
    assert same_bits(model.fit(blocks(shards, client)), alone)
    assert np.array_equal(model.transform(shards, client=client), alone.transform(shards))


def test_workers_are_reached_or_not(client):
    cluster = calls.Cluster(client)
    stress.wait_until(lambda: all(cluster.can_reach(address) for address in cluster.workers()))
    assert not cluster.can_reach("tcp://127.0.0.1:1")


def test_transform_and_score(client, shards, X):
    model = paper_lda(3, alpha=0.3, eta=0.1, max_iter=5, tol=0, random_state=0).fit(X)
    assert np.array_equal(model.transform(shards, client=client), model.transform(X))
    np.testing.assert_allclose(model.score(shards, client=client), model.score(X), rtol=1e-12)


@pytest.mark.parametrize("kind", ["array", "persisted", "delayed", "bag"])
def test_dask_collections(client, X, kind):
    dense = array.from_array(X.toarray(), chunks=(50, 60))
    collection = {
        "array": lambda: dense.rechunk((50, 20)),
        "persisted": dense.persist,
        "delayed": lambda: [dask.delayed(X[i : i + 40]) for i in range(0, 160, 40)],
        "bag": lambda: bag.from_sequence([X[i : i + 40] for i in range(0, 160, 40)], npartitions=2),
    }[kind]()
    model = PLSA(3, max_iter=5, tol=0, random_state=0)
    whole = copied(model.fit(X))
    model.fit(collection)  # with the current client
    np.testing.assert_allclose(model.components_, whole.components_, rtol=1e-8, atol=1e-12)
    weights = model.transform(collection, client=client)
    np.testing.assert_allclose(weights, whole.transform(X), rtol=1e-5, atol=1e-8)


def _killing(cluster, client, shards, n_victims):
    """Fit while workers are killed; compare with a fit that nobody disturbed."""
    model = LDA(3, max_iter=24, tol=0, random_state=0)
    undisturbed = copied(model.fit(blocks(shards)))
    cluster.scale(WORKERS)
    victims = stress.worker_pids(client, WORKERS)[:n_victims]
    timers = [threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)) for victim in victims]

    def kill(at):
        if at.iteration == 18:  # a lesson is near
            for timer in timers:
                timer.start()

    model.set_params(callbacks=kill).fit(blocks(shards, client))
    for timer in timers:
        timer.join()
    model.callbacks = None
    assert same_bits(model, undisturbed)


@pytest.mark.parametrize("reached", [True, False])  # or everything goes by the scheduler
def test_a_killed_worker_changes_nothing(cluster, client, shards, monkeypatch, reached):
    monkeypatch.setattr(calls.Cluster, "can_reach", lambda cluster, address: reached)
    _killing(cluster, client, shards, n_victims=1)


def test_a_fit_goes_on_when_all_workers_were_killed(cluster, client, shards):
    _killing(cluster, client, shards, n_victims=WORKERS)


@pytest.fixture(scope="module")
def processes():
    processes = stress.Processes()
    yield processes
    processes.close()


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", ["pause a worker", "stop a worker", "stop all workers"])
def test_a_paused_worker_ends_no_fit_and_no_fit_waits_for_ever(
    processes, tmp_path, monkeypatch, kind
):
    stress.set_limits(monkeypatch.setattr)
    if kind == "stop all workers":  # nobody comes to take their place
        monkeypatch.setattr(calls, "WORKER_SECONDS", 8)
    else:  # the worker that is left may be as slow as a busy machine makes it
        monkeypatch.setattr(calls, "WORKER_SECONDS", math.inf)
        monkeypatch.setattr(calls, "ATTEMPTS", 10**6)
    lost = stress.record_losses(monkeypatch.setattr)
    undisturbed = stress.write_shards(tmp_path)
    until_noticed = partial(stress.wait_until, lambda: lost)
    how, _ = stress.run_round(kind, tmp_path, undisturbed, processes, pause=until_noticed)
    assert how in stress.KINDS[kind]
    assert lost


def test_calls_have_a_limit(client, monkeypatch):
    monkeypatch.setattr(calls, "ANSWER_SECONDS", 0.3)
    with pytest.raises(calls.ClusterLost, match="no answer within 0 seconds"):
        calls.Cluster(client).call(asyncio.sleep, 60)
    with pytest.raises(calls.ClusterLost, match="no answer within 2 seconds"):
        calls.Cluster(client).call(asyncio.sleep, 60, n_bytes=1_500_000)


def test_a_wait_continues_while_a_worker_works_and_no_longer(client, monkeypatch):
    stress.set_limits(monkeypatch.setattr)
    cluster = calls.Cluster(client)
    for seconds in (2, 8, 32):  # on a busy machine a worker may be silent for some seconds
        monkeypatch.setattr(calls, "ANSWER_SECONDS", seconds)
        with contextlib.suppress(calls.ClusterLost):
            cluster.wait([client.submit(time.sleep, 3 * seconds, pure=False)])
            break
    else:
        pytest.fail("the wait did not continue while a worker worked")
    monkeypatch.setattr(calls, "ANSWER_SECONDS", 2)
    nowhere = client.submit(time.sleep, 0, pure=False, resources={"none": 1})
    with pytest.raises(calls.ClusterLost, match=r"no (worker has worked for|answer within) 2 sec"):
        cluster.wait([nowhere])


def test_topics_are_sent_to_the_workers_that_are_there(client, monkeypatch):
    cluster = calls.Cluster(client)
    addresses = list(cluster.workers())
    sent = []

    def was_sent():
        sent.append(cluster.send(np.arange(3.0), [*addresses, "tcp://127.0.0.1:1"], 24))
        return sent[-1] is not None

    stress.wait_until(was_sent)
    future = sent[-1]
    holders = set(client.who_has([future])[future.key])  # Dask drops copies that no task needs yet
    assert holders
    assert holders <= set(addresses)
    assert np.array_equal(future.result(timeout=60), np.arange(3.0))
    assert cluster.send(np.arange(3.0), ["tcp://127.0.0.1:1"], 24) is None


def test_errors_of_tasks_are_raised_at_once(client):
    cluster = calls.Cluster(client)
    futures = [client.submit(os.listdir, "/nowhere"), client.submit(time.sleep, 5, pure=False)]
    with pytest.raises(FileNotFoundError):
        cluster.wait(futures)


def test_no_worker_is_waited_for_with_a_limit(monkeypatch):
    monkeypatch.setattr(calls, "WORKER_SECONDS", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        distributed.Client(empty, set_as_default=False) as client,
        pytest.raises(ConnectionError, match="No Dask worker has accepted tasks"),
    ):
        calls.Cluster(client).retry(lambda workers: None)


def test_bad_blocks_are_named_before_the_first_pass(client, X, tmp_path):
    for i in range(2):
        sparse.save_npz(tmp_path / f"{i}.npz", X[20 * i : 20 * (i + 1)])
    opened = blocks(tmp_path, client)
    (tmp_path / "1.npz").write_bytes((tmp_path / "1.npz").read_bytes()[:300])
    with pytest.raises(ValueError, match=r"1\.npz cannot be read"):
        NMF(2).fit(opened)
    (tmp_path / "1.npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"1\.npz is missing"):
        NMF(2).fit(opened)


def test_wrong_clients(shards):
    with pytest.raises(TypeError, match=r"distributed\.Client"):
        NMF(2).fit(shards, client="localhost")


def started(*arguments):
    command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_lost_scheduler_is_survived_by_the_checkpoint(shards, tmp_path, client):
    address = str(tmp_path / "scheduler.json")
    scheduler = started("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", address)
    worker = started("worker", "--no-nanny", "--no-dashboard", "--scheduler-file", address)
    model = NMF(3, max_iter=10, tol=0, random_state=0)
    undisturbed = copied(model.fit(blocks(shards)))
    checkpoint = Checkpoint(tmp_path / "fit", seconds=0)

    def kill(at):
        if at.iteration == 4:
            scheduler.kill()

    stress.wait_until(lambda: os.path.exists(address))
    try:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
            stress.connect(address) as doomed,
        ):
            model.set_params(callbacks=kill)
            with pytest.raises(ConnectionError, match="scheduler does not answer"):
                model.fit(blocks(shards, doomed), checkpoint=checkpoint)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    iterations = []
    model.set_params(callbacks=lambda at: iterations.append(at.iteration))
    model.fit(blocks(shards, client), checkpoint=checkpoint)
    model.callbacks = None
    assert iterations == [5, 6, 7, 8, 9, 10]
    assert same_bits(model, undisturbed)
