import { ApiError, errorOf } from './client.ts';
import { asText, fieldsOf, itemsOf } from './loose-json.ts';

/** The outcome of a streamed answer. */
export interface Streamed {
  readonly requestId: string | undefined;
  /** Milliseconds until the first text; `undefined` when there was none. */
  readonly firstTextMs: number | undefined;
  readonly totalMs: number;
  /** Why the model stopped; `length` means that it reached the token limit. */
  readonly finishReason: string | undefined;
}

/** Enough for a short sentence, and cheap. */
const maxTokens = 64;

/**
 * One tiny chat completion with an API key, sent to the gateway that serves this page. Calls back with each piece of
 * the text. Throws an `ApiError` when the gateway refuses, or when the upstream fails in mid-stream.
 */
export async function streamChat({
  key,
  model,
  onText,
  signal,
}: {
  readonly key: string;
  readonly model: string;
  readonly onText: (piece: string) => void;
  readonly signal: AbortSignal;
}): Promise<Streamed> {
  const startedAt = performance.now();
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    credentials: 'omit',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content: 'Say hello in one short sentence.' }],
      max_tokens: maxTokens,
      stream: true,
    }),
    signal,
  });
  if (!response.ok || response.body === null) throw errorOf(await jsonOf(response), response);
  let firstTextMs: number | undefined;
  let finishReason: string | undefined;
  for await (const data of eventsOf(response.body)) {
    const chunk = chunkOf(data);
    if (chunk.error !== undefined) throw errorOf({ error: chunk.error }, response);
    finishReason = chunk.finishReason ?? finishReason;
    if (chunk.text === '') continue;
    firstTextMs ??= performance.now() - startedAt;
    onText(chunk.text);
  }
  return {
    requestId: response.headers.get('x-request-id') ?? undefined,
    firstTextMs,
    totalMs: performance.now() - startedAt,
    finishReason,
  };
}

const jsonOf = (response: Response): Promise<unknown> => response.json().catch(() => undefined);

/** The data of each server-sent event, except the final `[DONE]`. */
async function* eventsOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const lines = (rest + next.value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const data = line.startsWith('data:') ? line.slice('data:'.length).trim() : '';
      if (data !== '' && data !== '[DONE]') yield data;
    }
  }
}

interface Chunk {
  readonly text: string;
  readonly finishReason: string | undefined;
  readonly error: unknown;
}

function chunkOf(data: string): Chunk {
  const { choices, error } = fieldsOf(parsed(data));
  const { delta, finish_reason: finish } = fieldsOf(itemsOf(choices)[0]);
  return {
    text: asText(fieldsOf(delta)['content']) ?? '',
    finishReason: asText(finish),
    error: error ?? undefined,
  };
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw new ApiError({ status: 0, code: 'unreadable', message: 'The answer was cut off in the middle.' });
  }
}
