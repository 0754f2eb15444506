import type { Answer, Frame, FrameMark, ServerSentEvent } from './answer.ts';
import type { Call } from './call.ts';
import type { Dialect } from './dialect.ts';
import type { Directives, FrameName, Gap } from './directives.ts';
import { errorInside } from './error-answer.ts';

/** One operation on a response body. `destroy` closes the socket; `line` writes that many bytes without a line end. */
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

/** The text of a server-sent event. `d` says how carelessly the upstream writes its lines. */
function eventText({ name, data }: ServerSentEvent, d: Directives): string {
  const newline = d.crlf === true ? '\r\n' : '\n';
  const comment = d.comments === true ? `: simulated comment${newline}${newline}` : '';
  const named = name === undefined || d['no-event-lines'] === true ? [] : [`event: ${name}`];
  const lines = d['data-first'] === true ? [`data: ${data}`, ...named] : [...named, `data: ${data}`];
  return `${comment}${lines.join(newline)}${newline}${newline}`;
}

/** The steps of a whole answer: everything at once, or its first half and then the requested fault. */
export function wholeSteps(text: string, d: Directives, dialect: Dialect): readonly Step[] {
  if (d['long-line'] !== undefined)
    return [write('{"simulated":"'), { kind: 'line', bytes: d['long-line'] }, end];
  if (d.garbage !== undefined) return [write(dialect.malformed.data), end];
  if (d.foreign !== undefined) return [write(dialect.foreign.data), end];
  if (d.break !== undefined || d.cut !== undefined) return [write(half(text)), destroy];
  if (d.hang !== undefined) return [write(half(text)), hang];
  return [write(d.eof === undefined ? text : half(text)), end];
}

type StreamedAnswer = Extract<Answer, { readonly kind: 'stream' }>;
type Speaker = Pick<Call, 'dialect' | 'serial'>;

/** The steps of a streamed answer, with faults at their places. The last step is never a write. */
export function* streamSteps(
  { frames, deltaCount }: StreamedAnswer,
  d: Directives,
  speaker: Speaker,
): Generator<Step> {
  const faults = clampedFaults(d, deltaCount);
  let sent = 0;
  for (const beat of beats(frames)) {
    const isFrame = typeof beat === 'object';
    const steps = isFrame ? frameSteps(beat, faults, d) : gapSteps(beat, faults, d, speaker, sent);
    yield* steps;
    if (isFrame) sent += 1;
    const last = steps.at(-1);
    if (last !== undefined && last.kind !== 'write') return;
  }
  yield end;
}

interface NamedFrame extends Frame {
  readonly place: FrameName | undefined;
}

/**
 * The frames with their places and the gaps between them. `end` comes before `[DONE]` or its equivalent, or at the end.
 */
function* beats(frames: Iterable<Frame>): Generator<Gap | NamedFrame> {
  yield 0;
  let deltas = 0;
  let ended = false;
  for (const frame of frames) {
    const { mark } = frame;
    if (mark === 'delta') deltas += 1;
    if (mark === 'done') {
      ended = true;
      yield 'end';
    }
    yield { ...frame, place: placeOf(mark, deltas) };
    if (mark === 'delta') yield deltas;
    if (mark === 'role' || mark === 'finish') yield mark;
  }
  if (!ended) yield 'end';
}

const placeOf = (mark: FrameMark, deltas: number): FrameName | undefined => {
  if (mark === 'reasoning' || mark === 'part') return undefined;
  if (mark === 'role') return 0;
  return mark === 'delta' ? deltas : mark;
};

type Faults = Pick<Directives, 'garbage' | 'foreign' | 'error-at' | 'eof' | 'break' | 'hang' | 'cut'>;

/** A place beyond the last delta means the last delta. */
function clampedFaults(d: Directives, deltaCount: number): Faults {
  const near = (at: unknown): unknown => (typeof at === 'number' ? Math.min(at, deltaCount) : at);
  const { garbage, foreign, eof, hang, cut } = d;
  const faults = { garbage, foreign, 'error-at': d['error-at'], eof, break: d.break, hang, cut };
  return Object.fromEntries(Object.entries(faults).map(([name, at]) => [name, near(at)]));
}

function frameSteps(frame: NamedFrame, { cut }: Faults, d: Directives): readonly Step[] {
  if (frame.mark === 'done' && d['no-done'] === true) return [];
  const text = eventText(frame, d);
  if (cut !== undefined && cut === frame.place) return [write(half(text)), destroy];
  return [write(text, frame.mark === 'delta' || frame.mark === 'reasoning')];
}

/** The steps at a gap. Several faults at one gap come in this order, up to the first one that stops the stream. */
function gapSteps(
  gap: Gap,
  faults: Faults,
  d: Directives,
  { dialect, serial }: Speaker,
  sent: number,
): readonly Step[] {
  const steps: Step[] = [];
  if (faults.garbage === gap) steps.push(write(eventText(dialect.malformed, d)));
  if (faults.foreign === gap) steps.push(write(eventText(dialect.foreign, d)));
  if (gap === 'role' && d['long-line'] !== undefined) {
    return [...steps, write('data: {"simulated":"'), { kind: 'line', bytes: d['long-line'] }, end];
  }
  if (faults['error-at'] === gap) {
    const error = dialect.errorEvent(errorInside(d), serial, sent);
    return [...steps, write(eventText(error, d)), end];
  }
  if (faults.eof === gap) return [...steps, end];
  if (faults.break === gap) return [...steps, destroy];
  return faults.hang === gap ? [...steps, hang] : steps;
}
