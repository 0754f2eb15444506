import { Pool } from 'undici';

export interface Target {
  readonly url: string;
  /** Chat completions unless said otherwise. */
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly bytes: number;
  readonly chunks: number;
  /** Milliseconds from the request to the first byte of the body. */
  readonly firstByteMs: number;
}

/** One request, and what came of it. */
export function post(
  pool: Pool,
  { path = '/v1/chat/completions', headers }: Target,
  body: string,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let status = 0;
    let bytes = 0;
    let chunks = 0;
    let firstByteMs = 0;
    pool.dispatch(
      { method: 'POST', path, headers: { 'content-type': 'application/json', ...headers }, body },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, code) => {
          status = code;
        },
        onResponseData: (_controller, chunk) => {
          if (bytes === 0) firstByteMs = performance.now() - startedAt;
          bytes += chunk.length;
          chunks += 1;
        },
        onResponseEnd: () => resolve({ status, bytes, chunks, firstByteMs }),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}

/** Closed loop: so many callers, each sending its next request when it has its answer. */
export async function closedLoop(
  target: Target,
  body: string,
  callers: number,
  requests: number,
): Promise<void> {
  const pool = new Pool(target.url, { connections: callers });
  let left = requests;
  const caller = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const { status } = await post(pool, target, body);
      if (status !== 200) throw new Error(`status ${status}`);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  await pool.close();
}

/** Open loop: a fixed rate, whatever the answers do; milliseconds to the first byte of each. */
export async function openLoop(
  target: Target,
  body: string,
  perSecond: number,
  seconds: number,
): Promise<number[]> {
  const pool = new Pool(target.url, { connections: 64 });
  const answers: Promise<Answered>[] = [];
  const startedAt = performance.now();
  for (let sent = 0; sent < perSecond * seconds; sent += 1) {
    const dueAt = startedAt + (sent * 1000) / perSecond;
    const wait = dueAt - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    answers.push(post(pool, target, body));
  }
  const times = (await Promise.all(answers)).map(({ firstByteMs }) => firstByteMs);
  await pool.close();
  return times;
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
