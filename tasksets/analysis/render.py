"""Analyses as wire objects."""

from __future__ import annotations

from proctor.wire.analysis import AnalysisCounts, AnalysisOut, AnalysisSettings
from tasksets.analysis.models import Analysis
from tasksets.analysis.queries import environments_of
from tasksets.analysis.settings import settings_of
from tasksets.models import Taskset, Version


def render_analysis(taskset: Taskset, version: Version | None, found: Analysis | None) -> AnalysisOut:
    made_with = AnalysisSettings.model_validate(found.settings) if found and found.settings else settings_of(taskset)
    return AnalysisOut(
        status=found.status if found else "none", progress=found.progress if found else 0, version_number=version.number if version else None,
        settings=made_with, counts=counts_of(found), environments=environments_of(found, version), error=found.error if found else None,
        created_at=found.created_at if found else None, ended_at=found.ended_at if found else None,
    )  # fmt: skip


def counts_of(found: Analysis | None) -> AnalysisCounts:
    return AnalysisCounts.model_validate(found.counts) if found else AnalysisCounts()
