"""Makes random directed graphs and measures them with networkx: one line of JSON for each."""

import json
import random

import networkx
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python

random.seed(23)
for number in range(200):
    nodes = random.choice([1, 2, 3, 5, 8, 13, 21, 34, 55])
    edges = set()
    for _ in range(random.randrange(0, 3 * nodes + 1)):
        a, b = random.randrange(nodes), random.randrange(nodes)
        # Of every four graphs, one may have cycles.
        if a > b or (a != b and number % 4 == 0):
            edges.add((a, b))
    edges = sorted(edges)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(edges)
    rank = _pagerank_python(graph, alpha=0.85)
    between = networkx.betweenness_centrality(graph)
    is_dag = networkx.is_directed_acyclic_graph(graph)
    slack = None
    if is_dag:
        order = list(networkx.topological_sort(graph))
        down, up = {}, {}
        for node in reversed(order):
            down[node] = 1 + max((down[other] for other in graph.successors(node)), default=0)
        for node in order:
            up[node] = 1 + max((up[other] for other in graph.predecessors(node)), default=0)
        longest = networkx.dag_longest_path_length(graph) + 1
        slack = [longest - (down[node] + up[node] - 1) for node in range(nodes)]
    print(json.dumps({
        "nodes": nodes,
        "edges": edges,
        "page_rank": [rank[node] for node in range(nodes)],
        "betweenness": [between[node] for node in range(nodes)],
        "articulations": sorted(networkx.articulation_points(graph.to_undirected())),
        "longest": networkx.dag_longest_path_length(graph) + 1 if is_dag else None,
        "slack": slack,
        "behind": [len(networkx.ancestors(graph, node)) for node in range(nodes)] if is_dag else None,
    }))
