import { durationText, Time } from '../../ui/values.tsx';
import type { LoggedDetail } from '../request-logs/request-log.ts';
import { timelineOf, type TimelineStep } from './timeline.ts';

/** What happened when, on one scale. */
export function TimelineView({ detail }: { readonly detail: Pick<LoggedDetail, 'log' | 'attempts'> }) {
  const { receivedAt, totalMs, steps } = timelineOf(detail);
  return (
    <>
      <p className="muted">
        Received <Time at={receivedAt} />
      </p>
      <ol className="timeline">
        {steps.map((step, index) => (
          // An index is a stable key here, because the steps of a request do not change.
          <Step key={index} step={step} totalMs={totalMs} />
        ))}
      </ol>
    </>
  );
}

function Step({ step, totalMs }: { readonly step: TimelineStep; readonly totalMs: number }) {
  const { what, tone, fromMs, untilMs, detail } = step;
  const left = (fromMs / totalMs) * 100;
  return (
    <li>
      <span className="timeline-what">
        {what}
        {detail === undefined ? null : <span className="error-text"> {detail}</span>}
      </span>
      <span className="number muted">
        {durationText(fromMs)}
        {untilMs === fromMs ? '' : ` to ${durationText(untilMs)} (${durationText(untilMs - fromMs)})`}
      </span>
      <span className="timeline-track" aria-hidden="true">
        <span
          className={tone}
          // A step at the very end is still within the track.
          style={{
            left: `min(${left}%, 100% - 3px)`,
            width: `${Math.max(((untilMs - fromMs) / totalMs) * 100, 0.5)}%`,
          }}
        />
      </span>
    </li>
  );
}
