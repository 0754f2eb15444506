import { describe, expect, it } from '@jest/globals';
import type { Cuts } from '../support/replay-upstream.ts';
import { type ExpectedLabels, expectRefusal } from './expectations.ts';
import { type ErrorFacts, named, type Recording } from './library.ts';
import { eventData, isLoose, type Loose } from './received.ts';
import { type Answer, type RehearsedFamily, rehearsal, replayConfig } from './rehearsal.ts';

type Named = Pick<Recording<unknown>, 'name'>;

/** Sends a request that is answered with a recording; `over` has what the recorder did not keep. */
export type AskFor = (
  recording: Recording<unknown>,
  stream: boolean,
  over?: { readonly cuts?: Cuts; readonly status?: number; readonly contentType?: string },
) => Promise<Answer>;

/** A gateway for the calling suite with a numbered model for each recording, whose name is not a valid model id. */
export function replaying(family: RehearsedFamily, recordings: readonly Named[]): AskFor {
  const names = recordings.map(({ name }) => name);
  const modelOf = ({ name }: Named): string => `recording-${names.indexOf(name)}`;
  const { ask } = rehearsal((url, key) => replayConfig(url, key, recordings.map(modelOf)));
  return (recording, stream, { cuts, status = recording.status ?? 200, contentType } = {}) => {
    const type = contentType ?? recording.contentType;
    return ask(
      {
        status,
        headers: type === undefined ? {} : { 'content-type': type },
        body: recording.body,
        ...(cuts === undefined ? {} : { cuts }),
      },
      { model: modelOf(recording), stream, family },
    );
  };
}

export const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
};

/** The recorded errors of a family; `streams` has the kinds of requests to test. */
export function describeRefusals(
  refusals: readonly Recording<ErrorFacts>[],
  askFor: AskFor,
  streams: readonly boolean[],
  expectIt: typeof expectRefusal = expectRefusal,
): void {
  describe('a recorded error becomes the status and the envelope of the specification', () => {
    it.each(named(refusals))('%s', async (_name, recording) => {
      const status = recording.status ?? 400;
      for (const stream of streams) {
        const answer = await askFor(recording, stream, { status });
        expectIt(answer, {
          status: callerStatus(status),
          attempt: stream ? 'stream_start_error' : 'provider_error',
          upstreamStatus: status,
          ...messageOf(recording),
          labels: labelsOf(recording, status),
        });
      }
    });

    it.each(named(refusals))('%s, and is an error under status 200, too', async (_name, recording) => {
      for (const stream of streams) {
        const answer = await askFor(recording, stream, { status: 200, contentType: 'application/json' });
        expect([400, 502]).toContain(answer.status);
        expectIt(answer, {
          status: answer.status,
          attempt: stream ? 'stream_start_error' : 'provider_error',
          ...messageOf(recording),
          labels: labelsOf(recording),
        });
      }
    });
  });
}

const looseOf = (value: unknown): Loose => (isLoose(value) ? value : {});
const isShort = (value: unknown): value is string =>
  typeof value === 'string' && /^[\w.-]{1,64}$/.test(value);

/** The labels of an error (rule 35.11), independent of the product's code. */
export function labelsOf({ body }: Recording<ErrorFacts>, status?: number): ExpectedLabels {
  const inEvents = status === undefined ? undefined : parsed(Buffer.from(eventData(body)[0] ?? ''));
  const value = looseOf(parsed(body) ?? inEvents);
  const error = isLoose(value['error']) ? value['error'] : value;
  const told = status !== 401 && status !== 403 && value['type'] === 'error';
  const labels = {
    code: [error['code'], error['status']].find(isShort),
    param: [error['param']].find(isShort),
    type: told ? [error['type']].find(isShort) : undefined,
  };
  return Object.fromEntries(Object.entries(labels).filter(([, label]) => label !== undefined));
}

/** The caller's status for an upstream status (rules 35.1, 35.2, 35.3, 35.4, 35.5), independent of the product's code. */
function callerStatus(status: number): number {
  if ([400, 404, 408, 413, 422, 429].includes(status)) return status;
  return status === 503 || status === 529 ? 503 : 502;
}

/** The message of the upstream, unless a part of it must be redacted or truncated. */
function messageOf({ facts, body }: Recording<ErrorFacts>): { readonly message?: string } {
  const value = parsed(body);
  const error = isLoose(value) ? (value['error'] ?? value) : undefined;
  const message = isLoose(error) ? error['message'] : undefined;
  if (typeof message !== 'string' || facts.message === undefined) return {};
  expect(message.startsWith(facts.message)).toBe(true);
  return /:\/\/\S*[?@#]/.test(message) || message.length > 1000 ? {} : { message };
}
