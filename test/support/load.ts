import { writeFile } from 'node:fs/promises';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import path from 'node:path';
import { stringify } from 'yaml';
import { runGateway } from './gateway.ts';
import { makeTestFolder } from './test-server.ts';

/** A chat completion as a caller under load sends it. */
export interface LoadRequest {
  readonly requestId: string;
  readonly key: string;
  readonly stream: boolean;
  /** Directives for the simulated upstream, such as `{ 'prompt-tokens': 12 }`. */
  readonly simulate?: Readonly<Record<string, string | number>>;
  readonly text?: string;
}

/**
 * What the caller got. `complete`: a whole JSON answer, or a stream up to its `[DONE]`. `refused`: an error instead
 * of an answer. `failed`: a stream that ended with an error chunk. `cut`: the connection broke before any of these.
 * `hung`: nothing of it within the time that the caller has.
 */
export type Fate = 'complete' | 'refused' | 'failed' | 'cut' | 'hung';

export interface LoadOutcome {
  readonly requestId: string;
  readonly fate: Fate;
  readonly status: number | undefined;
  /** `error.code` of the error that it got. */
  readonly code: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly milliseconds: number;
}

export interface Callers {
  readonly send: (url: string, request: LoadRequest) => Promise<LoadOutcome>;
  /** Resolves with the first byte of the answer's body; the outcome follows. */
  readonly open: (url: string, request: LoadRequest) => Promise<{ readonly outcome: Promise<LoadOutcome> }>;
  readonly close: () => void;
}

/** Callers with connections that they keep; each waits for its answer at most `patienceMs`. */
export function callers(patienceMs = 30_000): Callers {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  return {
    send: (url, asked) => send(agent, url, asked, patienceMs, () => undefined),
    open: (url, asked) =>
      new Promise((resolve) => {
        const outcome: Promise<LoadOutcome> = send(agent, url, asked, patienceMs, () => resolve({ outcome }));
        void outcome.then(() => resolve({ outcome }));
      }),
    close: () => agent.destroy(),
  };
}

function send(
  agent: Agent,
  url: string,
  asked: LoadRequest,
  patienceMs: number,
  onFirstByte: () => void,
): Promise<LoadOutcome> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let answer: IncomingMessage | undefined;
    let text = '';
    const end = (fate: Fate): void => {
      clearTimeout(patience);
      resolve({
        requestId: asked.requestId,
        fate,
        status: answer?.statusCode,
        code: errorCode(text),
        headers: answer?.headers ?? {},
        milliseconds: performance.now() - startedAt,
      });
      outgoing.destroy();
    };
    const patience = setTimeout(() => end('hung'), patienceMs);
    const outgoing = request(`${url}/v1/chat/completions`, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${asked.key}`,
        'content-type': 'application/json',
        'x-request-id': asked.requestId,
      },
    });
    outgoing.on('error', () => end('cut'));
    outgoing.on('response', (response) => {
      answer = response;
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        onFirstByte();
        // Whoever has read `[DONE]` holds a complete answer, whatever comes of the connection.
        if (asked.stream && response.statusCode === 200 && isDone(text)) end('complete');
      });
      response.on('end', () => end(fateOf(asked, response, text)));
      response.on('error', () => end('cut'));
    });
    outgoing.end(bodyOf(asked));
  });
}

const bodyOf = ({ stream, simulate, text }: LoadRequest): string =>
  JSON.stringify({
    model: 'fast',
    messages: [{ role: 'user', content: text ?? 'Hello there' }],
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(simulate === undefined ? {} : { simulate }),
  });

const isDone = (text: string): boolean => text.endsWith('data: [DONE]\n\n');

function fateOf({ stream }: LoadRequest, { statusCode, complete }: IncomingMessage, text: string): Fate {
  if (!complete) return 'cut';
  if (statusCode !== 200) return 'refused';
  if (!stream) return 'complete';
  if (isDone(text)) return 'complete';
  return errorCode(text) === undefined ? 'cut' : 'failed';
}

/** Of a whole error, or of the last chunk of a stream. */
function errorCode(text: string): string | undefined {
  const last = text.startsWith('data:') ? text.trimEnd().split('\n\n').at(-1)?.slice('data:'.length) : text;
  try {
    const { error } = JSON.parse(last ?? '') as { error?: { code?: string } };
    return error?.code;
  } catch {
    return undefined;
  }
}

/** The seed of this run: `TORTURE_SEED` repeats an earlier one. */
export const tortureSeed = (): number => Number(process.env['TORTURE_SEED'] ?? Date.now() % 2 ** 31);

/** `gateway ledger verify` on a suite's database. */
export async function ledgerVerify(databaseUrl: string): ReturnType<typeof runGateway> {
  const file = path.join(await makeTestFolder('verify'), 'gateway.yaml');
  await writeFile(file, stringify({ providers: [], models: [], teams: [], users: [], api_keys: [] }));
  return runGateway(['ledger', 'verify'], { GATEWAY_CONFIG: file, DATABASE_URL: databaseUrl });
}
