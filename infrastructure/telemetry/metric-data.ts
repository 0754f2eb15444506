import { type HrTime, ValueType } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import { type Metric, type MetricName, metricTable } from './metric-table.ts';
import type { AnyPoint, HistogramValue, Point } from './instruments.ts';

/** From the start of counting until now. */
export interface Interval {
  readonly from: HrTime;
  readonly to: HrTime;
}

/** The current points of a metric in the form that the SDK's exporters accept; cumulative. */
export function metricData(
  name: MetricName,
  points: readonly AnyPoint[],
  { from, to }: Interval,
): MetricData {
  const metric: Metric = metricTable[name];
  const { kind, unit, says, bounds = [] } = metric;
  const about = {
    descriptor: { name, description: says, unit, valueType: valueTypeOf(metric) },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const placed = <V>({ labels, value }: Point<V>) => ({
    startTime: from,
    endTime: to,
    attributes: labels,
    value,
  });
  if (kind === 'histogram')
    return {
      ...about,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: (points as readonly Point<HistogramValue>[]).map(({ labels, value: { counts, ...rest } }) =>
        placed({ labels, value: { buckets: { boundaries: [...bounds], counts: [...counts] }, ...rest } }),
      ),
    };
  const dataPoints = (points as readonly Point[]).map(placed);
  if (kind === 'gauge') return { ...about, dataPointType: DataPointType.GAUGE, dataPoints };
  return { ...about, dataPointType: DataPointType.SUM, isMonotonic: kind !== 'level', dataPoints };
}

/** Counts are whole numbers; seconds, dollars and ratios are not. */
const valueTypeOf = ({ unit }: Metric): ValueType =>
  unit === 'By' || (unit.startsWith('{') && unit !== '{USD}') ? ValueType.INT : ValueType.DOUBLE;
