"""Many fits, their components clustered: how many there are, and which of them are stable.

=============== =========================================================================
``plan``        what a run is: a fit from its own start to resampled data
``stacked``     runs that share their passes over the data
``runs``        make all runs over the cores; go on after a kill
``held_out``    score held-out samples by document completion
``clusters``    cluster the components of all runs, one of each run in a cluster
``choice``      choose the number of components by stability and held-out score
``result``      what :func:`consensus` returns
=============== =========================================================================
"""

from isotopic.consensus.call import consensus
from isotopic.consensus.clusters import Clusters, cluster_components
from isotopic.consensus.result import Consensus

__all__ = ["Clusters", "Consensus", "cluster_components", "consensus"]
