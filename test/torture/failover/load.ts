import { randomUUID } from 'node:crypto';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** An owner with its key. */
export interface Owner {
  readonly name: string;
  readonly key: string;
}

/** The answer that a request orders from the simulated upstream, which determines its cost. */
interface Ask {
  readonly requestId: string;
  readonly owner: Owner;
  readonly stream: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/**
 * `complete`: a complete answer, or a stream up to its `[DONE]`. `refused`: an error instead of an answer.
 * `failed`: a stream that ended with an error. `cut`: the connection broke. `hung`: none of them in 45
 * seconds.
 */
export type Fate = 'complete' | 'refused' | 'failed' | 'cut' | 'hung';

/** One try of a request; a caller may repeat it under the same id. */
export interface Try extends Ask {
  readonly fate: Fate;
  readonly code: string | undefined;
  /** Milliseconds of `performance.now`. */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Picodollars per token in the configuration of the drill. */
export const perToken = { prompt: 100_000_000n, completion: 200_000_000n };

export const costOf = ({ promptTokens, completionTokens }: Ask): bigint =>
  BigInt(promptTokens) * perToken.prompt + BigInt(completionTokens) * perToken.completion;

/** The timeout of callers. */
const patienceMs = 45_000;

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
export const endConnections = (): void => agent.destroy();

/** A caller with one request at a time, always to the same gateway, until it is stopped. */
export interface Caller {
  readonly owner: Owner;
  readonly gateway: string;
  readonly tries: Try[];
  readonly ended: Promise<void>;
}

export function startCaller(owner: Owner, gateway: string, random: () => number, until: AbortSignal): Caller {
  const tries: Try[] = [];
  const upTo = (max: number): number => Math.floor(random() * (max + 1));
  const anAsk = (): Ask => ({
    requestId: randomUUID(),
    owner,
    stream: random() < 0.5,
    promptTokens: 1 + upTo(40),
    completionTokens: 1 + upTo(20),
  });
  const run = async (): Promise<void> => {
    while (!until.aborted) {
      let ask = anAsk();
      for (let sent = 0; sent < 50; sent += 1) {
        const tried = await send(gateway, ask, upTo(60), upTo(6));
        tries.push(tried);
        await sleep(100 + upTo(300));
        // A caller without an answer retries under the same id, as SDKs do: it must not count twice.
        if (tried.fate === 'complete' || until.aborted || random() < 0.3) break;
        ask = { ...ask, stream: random() < 0.5 };
      }
    }
  };
  return { owner, gateway, tries, ended: run() };
}

function send(gateway: string, ask: Ask, latencyMs: number, chunkDelayMs: number): Promise<Try> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let answer: IncomingMessage | undefined;
    let text = '';
    const end = (fate: Fate): void => {
      clearTimeout(patience);
      resolve({ ...ask, fate, code: errorCode(text), startedAt, endedAt: performance.now() });
      outgoing.destroy();
    };
    const patience = setTimeout(() => end('hung'), patienceMs);
    const outgoing = request(`${gateway}/v1/chat/completions`, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${ask.owner.key}`,
        'content-type': 'application/json',
        'x-request-id': ask.requestId,
      },
    });
    outgoing.on('error', () => end('cut'));
    outgoing.on('response', (response) => {
      answer = response;
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        // After `[DONE]` the answer is complete, even if the connection breaks.
        if (ask.stream && response.statusCode === 200 && isDone(text)) end('complete');
      });
      response.on('end', () => end(fateOf(ask, answer, text)));
      response.on('error', () => end('cut'));
    });
    outgoing.end(bodyOf(ask, latencyMs, chunkDelayMs));
  });
}

const bodyOf = (ask: Ask, latencyMs: number, chunkDelayMs: number): string =>
  JSON.stringify({
    model: 'fast',
    // The id, which identifies the request at the upstream.
    messages: [{ role: 'user', content: ask.requestId }],
    ...(ask.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    simulate: {
      'prompt-tokens': ask.promptTokens,
      'completion-tokens': ask.completionTokens,
      'latency-ms': latencyMs,
      'chunk-delay-ms': chunkDelayMs,
    },
  });

/** The id in a request to the upstream; '' if there is none. */
export const idIn = (body: string): string => /"content":"([0-9a-f-]{36})"/.exec(body)?.[1] ?? '';

const isDone = (text: string): boolean => text.endsWith('data: [DONE]\n\n');

function fateOf({ stream }: Ask, answer: IncomingMessage | undefined, text: string): Fate {
  if (answer?.complete !== true) return 'cut';
  if (answer.statusCode !== 200) return 'refused';
  if (!stream || isDone(text)) return 'complete';
  return errorCode(text) === undefined ? 'cut' : 'failed';
}

/** The code of an error response, or of the last chunk of a stream. */
function errorCode(text: string): string | undefined {
  const last = text.startsWith('data:') ? text.trimEnd().split('\n\n').at(-1)?.slice('data:'.length) : text;
  try {
    const { error } = JSON.parse(last ?? '') as { error?: { code?: string } };
    return error?.code;
  } catch {
    return undefined;
  }
}
