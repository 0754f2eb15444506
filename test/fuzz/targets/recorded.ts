import {
  chatRecordings,
  contentRecordings,
  messagesRecordings,
  type Recording,
  responsesRecordings,
} from '../../recordings/library.ts';
import { type CallerFamily, eventStreamType, type Sample, type UpstreamName } from '../../samples/sample.ts';

/** The size limit: longer recordings take more time than they are worth. */
const maxBytes = 16 * 1024;

const asSamples = (
  recordings: readonly Recording<unknown>[],
  upstream: UpstreamName,
  callers: readonly CallerFamily[],
): readonly Sample[] =>
  recordings
    .filter(({ body }) => body.length <= maxBytes)
    .map(({ name, body }) => ({
      name,
      upstream,
      callers,
      // An array is the only other format that these platforms stream.
      contentType: body.toString('latin1', 0, 1) === '[' ? 'application/json' : eventStreamType,
      body,
      facts: { text: '' },
    }));

/** Recorded streams, if the folder of recordings exists; no part of them is stored. */
export const recordedStreams = (): readonly Sample[] => [
  ...asSamples(chatRecordings().streams, 'compat', ['chat_completions', 'messages']),
  ...asSamples(responsesRecordings().streams, 'compat', ['responses']),
  ...asSamples(contentRecordings().streams, 'platform A, generation', ['chat_completions', 'messages']),
  ...asSamples(messagesRecordings().streams, 'platform A, messages', ['messages', 'chat_completions']),
];
