import type { Frame, FrameMark } from './answer.ts';
import type { Directives, FrameName, Gap } from './directives.ts';
import { errorBody, simulatedError } from './error-answer.ts';

/** One thing done to a response body; `destroy` closes the socket, `line` writes that many bytes without a line end. */
export type Step =
  | { readonly kind: 'write'; readonly text: string; readonly paced: boolean }
  | { readonly kind: 'line'; readonly bytes: number }
  | { readonly kind: 'destroy' }
  | { readonly kind: 'hang' }
  | { readonly kind: 'end' };

const destroy: Step = { kind: 'destroy' };
const hang: Step = { kind: 'hang' };
const end: Step = { kind: 'end' };
const write = (text: string, paced = false): Step => ({ kind: 'write', text, paced });
const half = (text: string): string => text.slice(0, text.length / 2);

const malformedJson = '{"id":"simulated","choices":[{"index":0,';

/** The JSON text that stands for an error inside a 200 answer. */
export const midStreamError = (directives: Directives): string =>
  errorBody(simulatedError(500, directives.message ?? 'This is a simulated error inside a 200 answer.'));

/** Server-sent-event text of one payload. */
export function eventText(data: string, directives: Directives): string {
  const newline = directives.crlf === true ? '\r\n' : '\n';
  const comment = directives.comments === true ? `: simulated comment${newline}${newline}` : '';
  return `${comment}data: ${data}${newline}${newline}`;
}

/** The steps of a whole answer: everything at once, or its first half and then the fault that is asked for. */
export function wholeSteps(text: string, d: Directives): readonly Step[] {
  if (d['long-line'] !== undefined)
    return [write('{"simulated":"'), { kind: 'line', bytes: d['long-line'] }, end];
  if (d.garbage !== undefined) return [write(malformedJson), end];
  if (d.break !== undefined || d.cut !== undefined) return [write(half(text)), destroy];
  if (d.hang !== undefined) return [write(half(text)), hang];
  return [write(d.eof === undefined ? text : half(text)), end];
}

/** The steps of a streamed answer, with the faults at their places. The last step is never a write. */
export function* streamSteps(frames: Iterable<Frame>, d: Directives, deltaCount: number): Generator<Step> {
  const faults = clampedFaults(d, deltaCount);
  for (const beat of beats(frames)) {
    const steps = typeof beat === 'object' ? frameSteps(beat, faults, d) : gapSteps(beat, faults, d);
    yield* steps;
    const last = steps.at(-1);
    if (last !== undefined && last.kind !== 'write') return;
  }
  yield end;
}

interface NamedFrame extends Frame {
  readonly name: FrameName | undefined;
}

/** The frames with their names and, between them, the gaps. */
function* beats(frames: Iterable<Frame>): Generator<Gap | NamedFrame> {
  yield 0;
  let deltas = 0;
  for (const { mark, data } of frames) {
    if (mark === 'delta') deltas += 1;
    if (mark === 'done') yield 'end';
    yield { mark, data, name: mark === 'reasoning' ? undefined : nameOf(mark, deltas) };
    if (mark === 'delta') yield deltas;
    if (mark === 'role' || mark === 'finish') yield mark;
  }
}

const nameOf = (mark: Exclude<FrameMark, 'reasoning'>, deltas: number): FrameName => {
  if (mark === 'role') return 0;
  return mark === 'delta' ? deltas : mark;
};

type Faults = Pick<Directives, 'garbage' | 'error-at' | 'eof' | 'break' | 'hang' | 'cut'>;

/** A place beyond the last delta means the last delta. */
function clampedFaults(d: Directives, deltaCount: number): Faults {
  const near = (at: unknown): unknown => (typeof at === 'number' ? Math.min(at, deltaCount) : at);
  const { garbage, eof, hang, cut } = d;
  const faults = { garbage, 'error-at': d['error-at'], eof, break: d.break, hang, cut };
  return Object.fromEntries(Object.entries(faults).map(([name, at]) => [name, near(at)]));
}

function frameSteps(frame: NamedFrame, { cut }: Faults, d: Directives): readonly Step[] {
  if (frame.mark === 'done' && d['no-done'] === true) return [];
  const text = eventText(frame.data, d);
  if (cut !== undefined && cut === frame.name) return [write(half(text)), destroy];
  return [write(text, frame.mark === 'delta' || frame.mark === 'reasoning')];
}

/** What happens at a gap; several faults at one gap come in this order, and the first one that stops is the last. */
function gapSteps(gap: Gap, faults: Faults, d: Directives): readonly Step[] {
  const steps: Step[] = [];
  if (faults.garbage === gap) steps.push(write(eventText(malformedJson, d)));
  if (gap === 'role' && d['long-line'] !== undefined) {
    return [...steps, write('data: {"simulated":"'), { kind: 'line', bytes: d['long-line'] }, end];
  }
  if (faults['error-at'] === gap) return [...steps, write(eventText(midStreamError(d), d)), end];
  if (faults.eof === gap) return [...steps, end];
  if (faults.break === gap) return [...steps, destroy];
  return faults.hang === gap ? [...steps, hang] : steps;
}
