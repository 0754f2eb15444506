import { readEvents, type ReceivedEvent } from '../../recordings/received.ts';
import { demand } from '../target.ts';
import type { Said } from './said.ts';

type Fate = 'goes' | 'goes or not' | 'goes in other words' | 'unknown';

/** Words in events that a rule may drop or hold back, and in events that a rule may change. */
const heldBack = /vertex_event|completed|incomplete|message_stop/;
const changed = /reasoning|thinking|usage|error|fail|DONE/;

/** What may happen to an event. An escape may hide a word; unnamed events of messages streams get a name. */
function fateOf({ name, data }: ReceivedEvent, isMessages: boolean): Fate {
  const words = `${name ?? ''} ${data}`;
  const isDropped = data === '' || heldBack.test(words);
  const hasNoName = name === undefined || name === '' || name === 'message';
  const isChanged = changed.test(words) || (isMessages && hasNoName);
  if (words.includes('\\') || (isDropped && isChanged)) return 'unknown';
  if (isDropped) return 'goes or not';
  return isChanged ? 'goes in other words' : 'goes';
}

/** Words that may mark a failure of a responses stream: after one, only another failure is sent. */
const failure = /error|fail|cancel/;

/** What may happen to an event after one that may have been a failure. */
const fateBehindFailure = (fate: Fate): Fate =>
  fate === 'goes' || fate === 'goes or not' ? 'goes or not' : 'unknown';

/** The fates of the events; that of a second `message_start` is unknown. */
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

/** The number of events that are compared one by one. */
const maxEvents = 2000;

/**
 * Checks that events which no rule touches are sent as the received bytes, in their order, and all of them if
 * the answer is complete. Nothing is checked from the first event on whose fate is unknown.
 */
export function passedOn(input: Buffer, output: Buffer, said: Said, isMessages: boolean): void {
  const from = mark.equals(input.subarray(0, mark.length)) ? mark.length : 0;
  const came = readEvents(input.subarray(from)).slice(0, maxEvents);
  const sent = readEvents(output);
  const fates = fatesOf(came, isMessages);
  // The last one may be the gateway's own: an end or an error.
  const at = placeBehind(came, fates, sent.slice(0, Math.min(maxEvents, sent.length - 1)));
  if (at === undefined || said.end !== 'complete' || sent.length >= maxEvents) return;
  const end = fates.findIndex((fate, index) => index >= Math.max(0, at - 1) && fate !== 'goes');
  demand((end < 0 ? came.length : end) <= at, 'an event that no rule touches does not go out');
}

/** The index of the first received event after those that were sent; undefined if a fate is unknown. */
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
