/** An hour: its bar, and the text that is shown on hover. */
export interface HourBar {
  readonly key: string;
  /** For drawing only; `undefined` when nothing was measured. */
  readonly height: number | undefined;
  readonly text: string;
}

const barWidth = 10;
const room = 36;

/** 24 hours as small bars. The hour table has the exact numbers. */
export function HourBars({ label, bars }: { readonly label: string; readonly bars: readonly HourBar[] }) {
  const highest = Math.max(...bars.map(({ height }) => height ?? 0));
  const heightOf = (height: number | undefined): number =>
    highest === 0 || height === undefined || height === 0 ? 0 : Math.max(1.5, (height / highest) * room);
  return (
    <svg
      className="hour-bars"
      viewBox={`0 0 ${bars.length * barWidth} ${room + 1}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <line x1="0" x2={bars.length * barWidth} y1={room + 0.5} y2={room + 0.5} />
      {bars.map(({ key, height, text }, index) => (
        <g key={key}>
          <title>{text}</title>
          <rect className="hit-room" x={index * barWidth} y="0" width={barWidth} height={room} />
          <rect
            x={index * barWidth + 1}
            y={room - heightOf(height)}
            width={barWidth - 2}
            height={heightOf(height)}
          />
        </g>
      ))}
    </svg>
  );
}
