"""NodeClassifier with scikit-learn: node ids are the samples."""
import pickle

import numpy as np
import pytest

import rodeo
from test_train import small

FAST = {"epochs": 30, "device": "cpu", "lr": 0.05, "normalize_features": "none"}


def parts():
    edges, x, y, _ = small()
    return edges, x, np.array(["even", "odd"])[y], np.arange(60)


def test_forms_of_fit_agree():
    edges, x, names, ids = parts()
    expected = rodeo.NodeClassifier("gcn", **FAST).fit(edges, x, names).predict_proba()
    graph, data = rodeo.Graph.from_edge_index(edges, 60), rodeo.Dataset(edges, x)
    order = np.random.default_rng(1).permutation(60)
    for classifier, arrays, named in [
            (rodeo.NodeClassifier("gcn", graph=edges, x=x, **FAST), (ids, names), {}),
            (rodeo.NodeClassifier("gcn", graph=edges, x=x, **FAST), (order[:, None], names[order]), {}),
            (rodeo.NodeClassifier("gcn", graph=data, **FAST), (ids, names), {}),
            (rodeo.NodeClassifier("gcn", graph=graph, **FAST), (x, names), {}),
            (rodeo.NodeClassifier("gcn", **FAST), (x, names), {"graph": edges}),
            (rodeo.NodeClassifier("gcn", random_state=0, **FAST), (), {"graph": edges, "x": x, "y": names}),
            (rodeo.NodeClassifier("gcn", seed=0, **FAST), (edges, x), {"y": names})]:
        fitted = classifier.fit(*arrays, **named)
        np.testing.assert_allclose(fitted.predict_proba(), expected, atol=1e-4, err_msg=repr(classifier))
        np.testing.assert_array_equal(fitted.predict(order[:7]), fitted.predict()[order[:7]])
        assert fitted.score(order, names[order]) == fitted.score(None, names) > 0.8
        assert "\n" not in repr(classifier) and len(repr(classifier)) < 300
        pickle.loads(pickle.dumps(fitted)).predict(ids[:3])
    by_features = rodeo.NodeClassifier("gcn", graph=edges, **FAST).fit(x, names)
    np.testing.assert_allclose(by_features.predict_proba(x), by_features.predict_proba(), atol=1e-4)
    assert (by_features.predict(-x) != by_features.predict()).any() and by_features.n_features_in_ == 5


def test_wrong_arguments_are_named():
    edges, x, names, ids = parts()
    by_ids = rodeo.NodeClassifier("gcn", graph=edges, x=x, **FAST)
    for call, text in [(lambda: by_ids.fit(ids, names[1:]), "labels of 60 nodes"), (lambda: by_ids.fit(ids + 1, names), "X has node 60"),
                       (lambda: by_ids.fit(x, names), "X must be"), (lambda: by_ids.fit(ids), "y, the labels"),
                       (lambda: rodeo.NodeClassifier().fit(x, names), "graph is missing"),
                       (lambda: by_ids.set_params(hiden=3), "did you mean 'hidden'"), (lambda: by_ids.set_params(heads=3), "'gcn'.* 'heads'"),
                       (lambda: by_ids.predict(ids), "fit first"),
                       (lambda: rodeo.NodeClassifier(graph=edges, x=x, random_state="a").fit(ids, names), "random_state")]:
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match="sample_weight"):
        by_ids.fit(ids, names, sample_weight=ids)
    assert by_ids.set_params(model="gat", heads=3).get_params()["heads"] == 3


def test_scikit_learn_selects_models():
    base, selection = pytest.importorskip("sklearn.base"), pytest.importorskip("sklearn.model_selection")
    edges, x, names, ids = parts()
    classifier = rodeo.NodeClassifier("gcn", graph=edges, x=x, random_state=0, **FAST)
    assert base.is_classifier(classifier) and repr(base.clone(classifier)) == repr(classifier)
    for samples in ids, ids[:, None]:
        scores = selection.cross_val_score(classifier, samples, names, cv=3)
        assert scores.shape == (3,) and scores.mean() > 0.7
    expected = base.clone(classifier).fit(ids[20:], names[20:])
    (train, test), = selection.PredefinedSplit(np.where(ids < 20, 0, -1)).split()
    assert selection.cross_val_score(classifier, ids, names, cv=[(train, test)])[0] == expected.score(ids[:20], names[:20])
    search = selection.GridSearchCV(classifier, {"model": ["gcn", "sage"], "hidden": [4, 16]}, cv=2, scoring="neg_log_loss").fit(ids, names)
    assert set(search.best_params_) == {"model", "hidden"} and (search.predict(ids) == names).mean() > 0.7
    proba = selection.cross_val_predict(classifier, ids, names, cv=3, method="predict_proba")
    assert proba.shape == (60, 2)
    in_processes = selection.cross_val_score(classifier, ids, names, cv=3, n_jobs=2)
    np.testing.assert_array_equal(in_processes, selection.cross_val_score(classifier, ids, names, cv=3))
