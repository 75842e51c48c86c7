from .adv_reg import AdvReg, AdvRegRT
from .afl import AFL
from .apfl import APFL
from .base import Aggregate, Algorithm, LocalWork, Reply, algorithm_registry
from .clustered_fl import ClusteredFL
from .d_fedem import DFedEM
from .ditto import Ditto
from .dp_sgd import DPSGD
from .dpasgd import DPASGD
from .fed_omd import FedOMD
from .fedavg import FedAvg
from .fedavg_averaged import FedAvgAveraged
from .fedavg_plus import FedAvgPlus
from .fedbn import FedBN
from .fedem import FedEM
from .fedmgda import FedMGDAPlus
from .fednova import FedNova
from .fedopt import FedAdagrad, FedAdam, FedAvgM, FedYogi
from .fedper import FedPer
from .fedprox import FedProx
from .fedrep import FedRep
from .fem_omd import FemOMD, GaussianFemOMD
from .gifair import Gifair
from .gifair_per import GifairPer
from .gifair_plus import GifairPlus
from .ifca import IFCA
from .knn_per import KNNPer
from .l2sgd import L2SGD
from .local import Local
from .mmd import MMD
from .mocha import Mocha
from .needs import Needs
from .per_fedavg import PerFedAvg
from .perturbed_gradient import AnchoredGradient, PermutedGradient, PerturbedGradient
from .pfedme import PFedMe, PFedMeSimple
from .push_sum import PushSum
from .q_ffl import QFFL
from .scaffold import Scaffold
from .shared.client_data import ClientData
from .shared.local_sgd import LocalResult, local_sgd
from .shared.messages import Messages
from .shared.optimizers import Optimizer, optimizer_names, schedule_registry
from .shared.similarity_weights import SimilarityWeights, similarity_weights
from .surrogate_optimization import DecentralizedSurrogate, SurrogateOptimizer
from .term import Term
from .term_group import TermGroup
from .werm import WERM
from .werm_dp_sgd import WERMDPSGD

__all__ = [
    "AFL",
    "APFL",
    "DPASGD",
    "DPSGD",
    "IFCA",
    "L2SGD",
    "MMD",
    "QFFL",
    "WERM",
    "WERMDPSGD",
    "AdvReg",
    "AdvRegRT",
    "Aggregate",
    "Algorithm",
    "AnchoredGradient",
    "ClientData",
    "ClusteredFL",
    "DFedEM",
    "DecentralizedSurrogate",
    "Ditto",
    "FedAdagrad",
    "FedAdam",
    "FedAvg",
    "FedAvgAveraged",
    "FedAvgM",
    "FedAvgPlus",
    "FedBN",
    "FedEM",
    "FedMGDAPlus",
    "FedNova",
    "FedOMD",
    "FedPer",
    "FedProx",
    "FedRep",
    "FedYogi",
    "FemOMD",
    "GaussianFemOMD",
    "Gifair",
    "GifairPer",
    "GifairPlus",
    "KNNPer",
    "Local",
    "LocalResult",
    "LocalWork",
    "Messages",
    "Mocha",
    "Needs",
    "Optimizer",
    "PFedMe",
    "PFedMeSimple",
    "PerFedAvg",
    "PermutedGradient",
    "PerturbedGradient",
    "PushSum",
    "Reply",
    "Scaffold",
    "SimilarityWeights",
    "SurrogateOptimizer",
    "Term",
    "TermGroup",
    "algorithm_registry",
    "local_sgd",
    "optimizer_names",
    "schedule_registry",
    "similarity_weights",
]
