"""The programs on which other tools were published, under the names that they have there: all decided."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = {p.stem: p for d in ("examples/programs", "tests/verify/corpus") for p in (ROOT / d).glob("*.dp")}

SHADOWDP = {
    "ReportNoisyMax": "noisy_max",
    "SVT (N = 1)": "above_threshold",
    "SVT": "svt",
    "NumSVT": "num_svt",
    "GapSVT": "gap_svt",
    "PartialSum": "partial_sum",
    "PrefixSum": "prefix_sum",
    "SmartSum": "smart_sum",
}
CHECKDP = {
    **SHADOWDP,
    "MonotoneSVT": "svt_monotone",
    "AdaptiveSVT": "adaptive_svt",
    "BadNoisyMax": "noisy_max_value",
    "BadSVT1": "svt_without_query_noise",
    "BadSVT2": "svt_without_cutoff",
    "BadSVT3": "svt_too_little_noise",
    "BadGapSVT": "bad_gap_svt",
    "BadAdaptiveSVT": "bad_adaptive_svt",
    "BadSmartSum": "bad_smart_sum",
    "BadPartialSum": "bad_partial_sum",
}
STATDP = {
    "noisy_max_v1a": "noisy_max",
    "noisy_max_v1b": "noisy_max_value",
    "noisy_max_v2a": "noisy_max_exponential",
    "noisy_max_v2b": "noisy_max_value_exponential",
    "histogram_eps": "bad_histogram",
    "histogram": "histogram",
    "SVT": "svt",
    "iSVT1": "svt_without_query_noise",
    "iSVT2": "svt_without_cutoff",
    "iSVT3": "svt_too_little_noise",
    "iSVT4": "svt_releasing_answers",
}
DPSNIPER = {
    "LaplaceMechanism": "laplace_exact",
    "LaplaceParallel": "twenty_copies",
    "NoisyHist1": "histogram",
    "NoisyHist2": "bad_histogram",
    "OneTimeRappor": "one_time_rappor",
    "Rappor": "rappor",
    "PrefixSum": "prefix_sum_all",
    "ReportNoisyMax1": "noisy_max",
    "ReportNoisyMax2": "noisy_max_exponential",
    "ReportNoisyMax3": "noisy_max_value",
    "ReportNoisyMax4": "noisy_max_value_exponential",
    "SparseVectorTechnique1": "svt",
    "SparseVectorTechnique2": "svt_resample",
    "SparseVectorTechnique3": "svt_releasing_answers",
    "SparseVectorTechnique4": "svt_too_little_noise",
    "SparseVectorTechnique5": "svt_without_query_noise",
    "SparseVectorTechnique6": "svt_without_cutoff",
    "NumericalSVT": "num_svt",
    "SVT34Parallel": "svt_parallel",
    "TruncatedGeometricMechanism": "truncated_geometric",
}
WRONG = ("Bad", "iSVT", "v1b", "v2b", "histogram_eps", "Hist2", "Max3", "Max4", "Technique3", "Technique4")
WRONG += ("Technique5", "Technique6", "34Parallel")
EVERY = [(tool, name) for tool in (SHADOWDP, CHECKDP, STATDP, DPSNIPER) for name in tool]


@pytest.mark.parametrize(("tool", "name"), EVERY, ids=[name for _, name in EVERY])
def test_the_verdict_on_a_published_program_is_a_decision(tool, name):
    """The verdicts themselves are tested where the programs stand; here, that none is missing or open."""
    stated = PROGRAMS[tool[name]].read_text().splitlines()[0]
    assert stated == f"# verdict: {'refuted' if any(word in name for word in WRONG) else 'proved'}"
