import { readEvents, type ReceivedEvent } from '../../recordings/received.ts';
import { demand } from '../target.ts';
import type { Said } from './said.ts';

type Fate = 'goes' | 'goes or not' | 'goes in other words' | 'unknown';

/** Names and words by which a rule knows an event that it drops or holds back, and one that it changes. */
const heldBack = /vertex_event|completed|incomplete|message_stop/;
const changed = /reasoning|thinking|usage|error|fail|DONE/;

/** What may become of an event. An escape may hide a word; an event of a messages stream without a name gets one. */
function fateOf({ name, data }: ReceivedEvent, isMessages: boolean): Fate {
  const words = `${name ?? ''} ${data}`;
  const isDropped = data === '' || heldBack.test(words);
  const hasNoName = name === undefined || name === '' || name === 'message';
  const isChanged = changed.test(words) || (isMessages && hasNoName);
  if (words.includes('\\') || (isDropped && isChanged)) return 'unknown';
  if (isDropped) return 'goes or not';
  return isChanged ? 'goes in other words' : 'goes';
}

/** Words by which a failure of a responses stream may be known: behind one, only another word of it goes out. */
const failure = /error|fail|cancel/;

/** What may become of an event behind one that may have been a failure. */
const fateBehindFailure = (fate: Fate): Fate =>
  fate === 'goes' || fate === 'goes or not' ? 'goes or not' : 'unknown';

/** A message that begins once more goes or not. */
function fatesOf(came: readonly ReceivedEvent[], isMessages: boolean): readonly Fate[] {
  const begins = ({ name, data }: ReceivedEvent): boolean =>
    isMessages && `${name ?? ''} ${data}`.includes('message_start');
  const first = came.findIndex(begins);
  const failed = came.findIndex(({ name, data }) => failure.test(`${name ?? ''} ${data}`));
  return came.map((event, index) => {
    const fate = index > first && begins(event) ? 'unknown' : fateOf(event, isMessages);
    return failed >= 0 && index > failed ? fateBehindFailure(fate) : fate;
  });
}

const mark = Buffer.from('\uFEFF');

/** Events beyond which what went out is not looked for among what came in, one by one. */
const maxEvents = 2000;

/**
 * What no rule touches goes out as the bytes that came in, and in their order; of an answer that is complete, all of
 * it. From an event on of which it is not known what becomes of it, nothing is said.
 */
export function passedOn(input: Buffer, output: Buffer, said: Said, isMessages: boolean): void {
  const from = mark.equals(input.subarray(0, mark.length)) ? mark.length : 0;
  const came = readEvents(input.subarray(from)).slice(0, maxEvents);
  const sent = readEvents(output);
  const fates = fatesOf(came, isMessages);
  // The last one may be the gateway's own: an end, or what it has to say of a fault.
  const at = placeBehind(came, fates, sent.slice(0, Math.min(maxEvents, sent.length - 1)));
  if (at === undefined || said.end !== 'complete' || sent.length >= maxEvents) return;
  const end = fates.findIndex((fate, index) => index >= Math.max(0, at - 1) && fate !== 'goes');
  demand((end < 0 ? came.length : end) <= at, 'an event that no rule touches does not go out');
}

/** The place among the events that came, behind those that were sent; none where a fate is unknown. */
function placeBehind(
  came: readonly ReceivedEvent[],
  fates: readonly Fate[],
  sent: readonly ReceivedEvent[],
): number | undefined {
  let at = 0;
  for (const event of sent) {
    while (fates[at] === 'goes or not' && came[at]?.wire.equals(event.wire) === false) at += 1;
    if (fates[at] === 'unknown' || at >= maxEvents) return undefined;
    demand(at < came.length, 'an event goes out that did not come in');
    demand(
      fates[at] === 'goes in other words' || came[at]?.wire.equals(event.wire) === true,
      'an event that no rule touches does not go out as it came',
    );
    at += 1;
  }
  return at;
}
