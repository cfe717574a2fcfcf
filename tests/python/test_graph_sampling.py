# SPDX-License-Identifier: Apache-2.0
"""Samples of the neighbourhood of a graph's vertices, and what is made of them."""

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.library

nd = mx.nd
uniform = nd.contrib.dgl_csr_neighbor_uniform_sample
weighted = nd.contrib.dgl_csr_neighbor_non_uniform_sample
compact = nd.contrib.dgl_graph_compact


def ids(*numbers):
    return nd.array(numbers, dtype="int64")


def ring(size=30, reach=4, dtype="int64"):
    """Vertex i has edges to the next `reach` vertices; the edges are numbered from 1."""
    edges = np.zeros((size, size), dtype)
    for i in range(size):
        for step in range(1, reach + 1):
            edges[i, (i + step) % size] = i * reach + step
    return edges, nd.array(edges, dtype=dtype).tostype("csr")


def check_sample(edges, seeds, vertices, graph, layers, hops, neighbours):
    """What each sample must be: a part of the graph, all of whose vertices can be reached by its edges."""
    count = int(vertices[-1].asscalar())
    found = vertices.asnumpy()[:count]
    assert (np.diff(found) > 0).all() and set(seeds) <= set(found)
    assert not vertices.asnumpy()[count:-1].any() and not layers.asnumpy()[count:].any()
    sampled = graph.asnumpy()
    assert not sampled[count:].any()
    distance = dict.fromkeys(seeds, 0)
    for step in range(1, hops + 1):
        for row, vertex in enumerate(found):
            if distance.get(vertex) == step - 1:
                for other in np.flatnonzero(sampled[row]):
                    distance.setdefault(other, step)
    assert distance == dict(zip(found, layers.asnumpy()[:count]))
    for row, vertex in enumerate(found):
        places = np.flatnonzero(sampled[row])
        assert (sampled[row, places] == edges[vertex, places]).all()
        expands = distance[vertex] < hops
        assert len(places) == (min(neighbours, np.count_nonzero(edges[vertex])) if expands else 0)


@pytest.mark.parametrize(("hops", "neighbours"), [(0, 2), (1, 2), (2, 1), (2, 3), (3, 9), (1, 0)])
def test_uniform_samples(hops, neighbours):
    for dtype in ("int64", "float32"):
        edges, graph = ring(dtype=dtype)
        outputs = uniform(
            graph, ids(3, 17), ids(0), num_hops=hops, num_neighbor=neighbours, max_num_vertices=29
        )
        assert [o.stype for o in outputs] == ["default"] * 2 + ["csr"] * 2 + ["default"] * 2
        assert [o.shape for o in outputs] == [(30,)] * 2 + [(29, 30)] * 2 + [(29,)] * 2
        for i, seeds in enumerate(([3, 17], [0])):
            check_sample(edges, seeds, outputs[i], outputs[2 + i], outputs[4 + i], hops, neighbours)


def test_every_neighbour_is_as_likely():
    _, graph = ring()
    mx.random.seed(5)
    counts = np.zeros(30)
    draws = 600
    for _ in range(draws):
        counts += uniform(graph, ids(10), num_neighbor=2, max_num_vertices=5)[1].asnumpy()[0] > 0
    assert counts.sum() == 2 * draws and np.abs(counts[11:15] - draws / 2).max() < 75  # six deviations
    mx.random.seed(5)
    first = uniform(graph, ids(10), num_neighbor=2)[0].asnumpy()
    mx.random.seed(5)
    assert (uniform(graph, ids(10), num_neighbor=2)[0].asnumpy() == first).all()


def test_samples_by_probability():
    edges, graph = ring()
    probability = np.zeros(30, "float32")
    probability[[11, 12, 14]] = 0.6, 0.3, 0.1
    mx.random.seed(6)
    counts, draws = np.zeros(30), 600
    for _ in range(draws):
        vertices, sampled, chances, layers = weighted(
            graph, nd.array(probability), ids(10), num_neighbor=1, max_num_vertices=4
        )
        counts += sampled.asnumpy()[0] > 0
    check_sample(edges, [10], vertices, sampled, layers, 1, 1)
    assert np.abs(counts / draws - probability).max() < 0.12
    count = int(vertices[-1].asscalar())
    np.testing.assert_array_equal(
        chances.asnumpy(), np.append(probability[vertices.asnumpy()[:count]], np.zeros(4 - count, "float32"))
    )
    never = weighted(graph, nd.array(probability), ids(10), num_neighbor=3)
    assert set(never[0].asnumpy()[: int(never[0][-1].asscalar())]) == {10, 11, 12, 14}


def test_a_full_sample_ends():
    """At the first neighbour for which there is no room; edges lead to vertices of the sample only."""
    _, graph = ring()
    vertices, sampled, layers = uniform(graph, ids(0, 4), num_neighbor=9, max_num_vertices=4)
    assert vertices.asnumpy().tolist() == [0, 1, 2, 4, 4] and layers.asnumpy().tolist() == [0, 1, 1, 0]
    assert [np.flatnonzero(row).tolist() for row in sampled.asnumpy()] == [[1, 2], [], [], []]
    vertices, sampled, _ = uniform(graph, ids(0, 1), num_neighbor=9, max_num_vertices=2)
    assert vertices.asnumpy().tolist() == [0, 1, 2] and sampled.asnumpy().sum() == 1


def test_compact_graphs():
    edges, graph = ring()
    outputs = uniform(graph, ids(3, 9), ids(20), num_hops=2, num_neighbor=2, max_num_vertices=20)
    vertices, sampled = outputs[:2], outputs[2:4]
    sizes = tuple(int(v[-1].asscalar()) for v in vertices)
    small = compact(*sampled, *vertices, graph_sizes=sizes, return_mapping=True)
    for i, size in enumerate(sizes):
        found = vertices[i].asnumpy()[:size]
        numbered, mapped = small[i], small[2 + i]
        assert numbered.shape == mapped.shape == (size, size) and numbered.stype == "csr"
        np.testing.assert_array_equal(mapped.asnumpy(), sampled[i].asnumpy()[:size][:, found])
        assert numbered.data.asnumpy().tolist() == list(range(len(mapped.data)))
        assert (numbered.indices.asnumpy() == mapped.indices.asnumpy()).all()
        assert (numbered.indptr.asnumpy() == mapped.indptr.asnumpy()).all()
    alone = compact(sampled[1], vertices[1], graph_sizes=sizes[1], return_mapping=False)
    assert (alone.asnumpy() == small[1].asnumpy()).all()


def test_samples_in_symbols():
    _, graph = ring()
    make = mx.sym.contrib.dgl_csr_neighbor_uniform_sample
    net = make(mx.sym.var("graph"), mx.sym.var("seeds"), num_neighbor=9, max_num_vertices=6, name="s")
    assert net.list_outputs() == ["s_output0", "s_output1", "s_output2"]
    assert net.infer_shape(graph=(30, 30), seeds=(2,))[1] == [(7,), (6, 30), (6,)]
    outputs = net.bind(mx.cpu(), {"graph": graph, "seeds": ids(7)}, grad_req="null").forward()
    assert outputs[0].asnumpy().tolist() == [7, 8, 9, 10, 11, 0, 5]
    assert outputs[1].stype == "csr" and outputs[1].asnumpy()[0, 8:12].tolist() == [29, 30, 31, 32]


def test_what_is_refused():
    _, graph = ring()
    with pytest.raises(ValueError, match="3 seeds are more than max_num_vertices=2"):
        uniform(graph, ids(0, 1, 2), max_num_vertices=2)
    with pytest.raises(IndexError, match="vertex 30 is out of range"):
        uniform(graph, ids(30))[0].wait_to_read()
    with pytest.raises(TypeError, match="no csr matrix"):
        uniform(graph.tostype("default"), ids(0))[0].wait_to_read()
    with pytest.raises(ValueError, match="graph_sizes"):
        compact(graph, ids(0, 1), graph_sizes=(3,), return_mapping=False)
    with pytest.raises(ValueError, match="not among its vertices"):
        compact(graph, ids(0, 1), graph_sizes=(2,), return_mapping=False).wait_to_read()
    with pytest.raises(ValueError, match="not all different"):
        compact(graph, ids(1, 1), graph_sizes=(2,), return_mapping=False).wait_to_read()
