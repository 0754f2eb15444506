import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { type LoadFamilyName, loadFamilies } from './load-families.ts';

/** A request of a client under load: a chat completion by default. */
export interface LoadRequest {
  readonly requestId: string;
  readonly family?: LoadFamilyName;
  /** `fast` by default. */
  readonly model?: string;
  readonly key: string;
  readonly stream: boolean;
  /** Directives for the simulated upstream, such as `{ 'prompt-tokens': 12 }`. */
  readonly simulate?: Readonly<Record<string, string | number>>;
  readonly text?: string;
}

/**
 * The result for the client. `complete`: a whole JSON answer, or a stream up to its terminal event.
 * `refused`: an error instead of an answer. `failed`: a stream that ended with an error chunk. `cut`: the
 * connection broke before any of these. `hung`: none of these within the client's time limit.
 */
export type Fate = 'complete' | 'refused' | 'failed' | 'cut' | 'hung';

export interface LoadOutcome {
  readonly requestId: string;
  readonly fate: Fate;
  readonly status: number | undefined;
  /** `error.code` of the received error. */
  readonly code: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** The body as far as it was received. */
  readonly text: string;
  readonly milliseconds: number;
}

export interface Callers {
  readonly send: (url: string, request: LoadRequest) => Promise<LoadOutcome>;
  /** Resolves with the first byte of the answer's body; the outcome follows later. */
  readonly open: (url: string, request: LoadRequest) => Promise<{ readonly outcome: Promise<LoadOutcome> }>;
  readonly close: () => void;
}

/** Clients with kept-alive connections; each waits for its answer at most `patienceMs`. */
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
        text,
        milliseconds: performance.now() - startedAt,
      });
      outgoing.destroy();
    };
    const patience = setTimeout(() => end('hung'), patienceMs);
    const outgoing = request(`${url}${familyOf(asked).path}`, {
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
        // A client that has read the terminal event has a complete answer, whatever happens to the
        // connection.
        if (asked.stream && response.statusCode === 200 && familyOf(asked).isDone(text)) end('complete');
      });
      response.on('end', () => end(fateOf(asked, response, text)));
      response.on('error', () => end('cut'));
    });
    outgoing.end(bodyOf(asked));
  });
}

const familyOf = ({ family = 'chat' }: LoadRequest) => loadFamilies[family];

const bodyOf = (asked: LoadRequest): string => {
  const { model = 'fast', stream, simulate, text = 'Hello there' } = asked;
  return JSON.stringify({
    ...familyOf(asked).body({ model, stream, text }),
    ...(simulate === undefined ? {} : { simulate }),
  });
};

function fateOf(asked: LoadRequest, { statusCode, complete }: IncomingMessage, text: string): Fate {
  if (!complete) return 'cut';
  if (statusCode !== 200) return 'refused';
  if (!asked.stream) return 'complete';
  if (familyOf(asked).isDone(text)) return 'complete';
  return errorCode(text) === undefined ? 'cut' : 'failed';
}

interface ErrorBody {
  readonly error?: { readonly code?: string; readonly details?: { readonly error_code?: string } };
  readonly response?: { readonly error?: { readonly code?: string } | null };
  readonly code?: string;
}

/** The code of a whole error, or of the last frame of a stream. */
function errorCode(text: string): string | undefined {
  const [, last = text] = /(?:^|\n)data: ?(.*)$/.exec(text.trimEnd()) ?? [];
  try {
    const { error, response, code } = JSON.parse(last) as ErrorBody;
    return error?.details?.error_code ?? error?.code ?? response?.error?.code ?? code;
  } catch {
    return undefined;
  }
}
