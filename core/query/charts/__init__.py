"""Charts of a query's rows, as plain data: what is drawn, and the aggregated rows to draw."""

from lamella.core.query.charts.figures import ChartData as ChartData
from lamella.core.query.charts.preview import prepare_previews as prepare_previews
from lamella.core.query.charts.preview import preview_chart as preview_chart
from lamella.core.query.charts.reading import cache_columns as cache_columns
from lamella.core.query.charts.reading import read_chart as read_chart
from lamella.core.query.charts.spec import ChartSpec as ChartSpec
from lamella.core.query.charts.spec import suggest as suggest
