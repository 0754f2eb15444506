import { type HrTime, ValueType } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import { type Metric, type MetricName, metricTable } from './metric-table.ts';
import type { AnyPoint, Point, Spread } from './instruments.ts';

/** When counting began, and now. */
export interface Span {
  readonly from: HrTime;
  readonly to: HrTime;
}

/** A metric of the table with its points as they stand, as the SDK's exporters take it; cumulative. */
export function metricData(name: MetricName, points: readonly AnyPoint[], { from, to }: Span): MetricData {
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
      dataPoints: (points as readonly Point<Spread>[]).map(({ labels, value: { counts, ...rest } }) =>
        placed({ labels, value: { buckets: { boundaries: [...bounds], counts: [...counts] }, ...rest } }),
      ),
    };
  const dataPoints = (points as readonly Point[]).map(placed);
  if (kind === 'gauge') return { ...about, dataPointType: DataPointType.GAUGE, dataPoints };
  return { ...about, dataPointType: DataPointType.SUM, isMonotonic: kind !== 'level', dataPoints };
}

/** What is counted is whole; seconds, dollars and shares are not. */
const valueTypeOf = ({ unit }: Metric): ValueType =>
  unit === 'By' || (unit.startsWith('{') && unit !== '{USD}') ? ValueType.INT : ValueType.DOUBLE;
