import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { chatChunk, writtenChunk } from '../../../domain/chat/chat-envelope.ts';
import { isObject, isString, type JsonObject, parseJson } from '../../../domain/shared/json.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import type { StreamMachine } from '../../../domain/shared/stream-machine.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import { prematureEnd, streamFailure } from '../../../domain/upstream/upstream-fault.ts';
import { oracleUsage } from './oracle-response.ts';

type Phase = 'open' | 'over';
type Event = StreamEvent<JsonObject>;

/** Pieces until `spent`; any other end is a failure. */
export const oracleStream = (
  names: AnswerNames,
  sanitise: (message: string) => string,
): StreamMachine<Phase, TextFrame, Event> => ({
  start: () => 'open',
  step: (phase, frame) => {
    if (phase === 'over') return [phase, []];
    const said = frame.kind === 'oversize' ? undefined : parseJson(frame.data);
    if (!isObject(said)) return ['over', [failed('The oracle said nothing that is known.')]];
    if (isString(said['error'])) return ['over', [failed(sanitise(said['error']))]];
    if (isString(said['piece'])) return ['open', [chunk(names, { content: said['piece'] })]];
    return ['over', [chunk(names, {}, 'stop', oracleUsage(said['spent'])), { kind: 'done' }]];
  },
  end: (phase, ending) => (phase === 'over' ? [] : [{ kind: 'failed', error: prematureEnd(ending) }]),
});

const failed = (message: string): Event => ({ kind: 'failed', error: streamFailure(message) });

const chunk = (
  names: AnswerNames,
  delta: JsonObject,
  finish: string | null = null,
  members: JsonObject = {},
): Event =>
  writtenChunk(chatChunk(names, [{ index: 0, delta, finish_reason: finish }], members), finish !== null);
