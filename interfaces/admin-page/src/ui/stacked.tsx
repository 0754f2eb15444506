import { type ReactNode, Suspense } from 'react';
import { grouped } from './amounts.ts';
import { Icon } from './icons.tsx';
import { lazyPart } from './lazy-part.ts';
import { colourOf, type Point, type Series } from './series.ts';
import { type Column, Table } from './table.tsx';

/** Its place, if its code cannot be loaded: everything else of the page can be read all the same. */
const NoChart = () => (
  <p className="muted" role="status">
    The chart could not be loaded: load the page again. The table below has the same data.
  </p>
);

const StackedChart = lazyPart(async () => (await import('./stacked-chart.tsx')).StackedChart, NoChart);

const together: Column<Point> = {
  key: 'total',
  title: 'Together',
  align: 'end',
  cell: ({ total }) => (total === undefined ? null : grouped(total)),
  text: ({ total }) => total,
};

/** Stacked bars with a legend, and the same data as a table with its CSV. */
export function Stacked({
  label,
  unit,
  series,
  points,
  when,
  linkOf,
}: {
  readonly label: string;
  readonly unit: string;
  readonly series: readonly Series[];
  readonly points: readonly Point[];
  /** What a bar stands for, such as `Day`. */
  readonly when: string;
  /** A link to the rows that a bar sums. */
  readonly linkOf: (point: Point) => ReactNode;
}) {
  const columns: readonly Column<Point>[] = [
    { key: 'when', title: `${when} (UTC)`, cell: linkOf, text: ({ key }) => key },
    ...series.map(
      ({ key, name }, index): Column<Point> => ({
        key,
        title: name,
        align: 'end',
        cell: ({ parts }) => grouped(parts[index]?.text ?? ''),
        text: ({ parts }) => parts[index]?.text,
      }),
    ),
    ...(points.some(({ total }) => total !== undefined) ? [together] : []),
  ];
  return (
    <figure className="chart">
      <figcaption className="row">
        <strong>{label}</strong> <span className="muted">{unit}</span>
      </figcaption>
      <ul className="legend">
        {series.map(({ key, name }, index) => (
          <li key={key}>
            <i className="swatch" style={{ background: colourOf(series, index) }} /> {name}
          </li>
        ))}
      </ul>
      <div className="chart-room">
        <Suspense fallback={null}>
          <StackedChart label={label} series={series} points={points} />
        </Suspense>
      </div>
      <details className="same">
        <summary>
          <Icon name="columns" /> Show as a table
        </summary>
        <Table
          caption={`${label}, as a table`}
          columns={columns}
          rows={points}
          rowKey={({ key }) => key}
          empty={null}
        />
      </details>
    </figure>
  );
}
