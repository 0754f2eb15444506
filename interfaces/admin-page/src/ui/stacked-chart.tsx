import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { grouped } from './amounts.ts';
import { colourOf, type Point, type Series } from './series.ts';

/**
 * The bars themselves, in their own file because recharts is large: it is fetched only when a chart is shown. Heights
 * are numbers; texts are exact. Arrow keys move from bar to bar, and each bar is read aloud.
 */
export function StackedChart({
  label,
  series,
  points,
}: {
  readonly label: string;
  readonly series: readonly Series[];
  readonly points: readonly Point[];
}) {
  return (
    <ResponsiveContainer width="100%" height={260}>
      <BarChart
        data={[...points]}
        accessibilityLayer
        title={label}
        margin={{ top: 8, right: 4, bottom: 0, left: 0 }}
        barCategoryGap="18%"
      >
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis
          dataKey="tick"
          interval="equidistantPreserveStart"
          minTickGap={28}
          tickLine={false}
          stroke="var(--line-strong)"
          tick={{ fill: 'var(--muted)', fontSize: 12 }}
        />
        <YAxis
          // As wide as its longest label: a truncated one would show another number.
          width="auto"
          axisLine={false}
          tickLine={false}
          tickFormatter={(at: number) =>
            Number(at.toPrecision(6)).toLocaleString('en', { maximumFractionDigits: 15 })
          }
          tick={{ fill: 'var(--muted)', fontSize: 12 }}
        />
        <Tooltip
          isAnimationActive={false}
          cursor={{ fill: 'var(--pressed)' }}
          content={({ active, label: tick }) =>
            active ? <PointValues series={series} point={points.find((each) => each.tick === tick)} /> : null
          }
        />
        {series.map(({ key }, index) => (
          <Bar
            key={key}
            stackId="all"
            dataKey={({ parts }: Point) => parts[index]?.height ?? 0}
            fill={colourOf(series, index)}
            stroke="var(--ground)"
            strokeWidth={0.5}
            maxBarSize={56}
            isAnimationActive={false}
          />
        ))}
      </BarChart>
    </ResponsiveContainer>
  );
}

function PointValues({
  series,
  point,
}: {
  readonly series: readonly Series[];
  readonly point: Point | undefined;
}) {
  if (point === undefined) return null;
  return (
    <div className="chart-told">
      <strong>{point.title}</strong>
      <dl>
        {series.map(({ key, name }, index) => (
          <div key={key}>
            <dt>
              <i className="swatch" style={{ background: colourOf(series, index) }} /> {name}
            </dt>
            <dd className="number">{grouped(point.parts[index]?.text ?? '')}</dd>
          </div>
        ))}
        {point.total === undefined ? null : (
          <div className="chart-total">
            <dt>Together</dt>
            <dd className="number">{grouped(point.total)}</dd>
          </div>
        )}
      </dl>
    </div>
  );
}
