"""What is shown: every chart and every column of the page of tables, once. The API, the console, the recording rules
and Grafana's dashboards are made from it.
"""

from backend.metrics.cluster_charts import CLUSTER_CHARTS
from backend.metrics.table_charts import TABLE_CHARTS, TABLE_COLUMNS

CHARTS = CLUSTER_CHARTS + TABLE_CHARTS
CHARTS_BY_ID = {chart.id: chart for chart in CHARTS}
COLUMNS_BY_ID = {column.id: column for column in TABLE_COLUMNS}
