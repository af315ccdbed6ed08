"""Addresses of analyses."""

from django.urls import path

from tasksets.analysis import api

urlpatterns = [
    path("api/tasksets/<str:ref>/checks", api.checks),
    path("api/tasksets/<str:ref>/analysis", api.analysis),
    path("api/tasksets/<str:ref>/analysis/duplicates", api.duplicates),
    path("api/tasksets/<str:ref>/analysis/leaks", api.leaks),
]
