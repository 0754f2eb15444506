import { Pool } from 'undici';

export interface Target {
  readonly url: string;
  /** Chat completions by default. */
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  /** Milliseconds from the request to the first byte of the body. */
  readonly firstByteMs: number;
  /** Milliseconds from the request to the end of the body. */
  readonly wholeMs: number;
}

/** Sends one request. */
export function post(
  pool: Pool,
  { path = '/v1/chat/completions', headers }: Target,
  body: string | Buffer,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let status = 0;
    let firstByteMs: number | undefined;
    pool.dispatch(
      { method: 'POST', path, headers: { 'content-type': 'application/json', ...headers }, body },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, code) => {
          status = code;
        },
        onResponseData: () => {
          firstByteMs ??= performance.now() - startedAt;
        },
        onResponseEnd: () => {
          const wholeMs = performance.now() - startedAt;
          resolve({ status, firstByteMs: firstByteMs ?? wholeMs, wholeMs });
        },
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}

/** One request that must succeed, because errors must not be measured. */
async function answered(pool: Pool, target: Target, body: string | Buffer): Promise<Answered> {
  const answer = await post(pool, target, body);
  if (answer.status !== 200) throw new Error(`${target.url} answered with status ${answer.status}`);
  return answer;
}

/** Closed loop: this many callers, each of which sends its next request when it has its answer. */
export async function closedLoop(
  target: Target,
  body: string | Buffer,
  callers: number,
  requests: number,
): Promise<readonly Answered[]> {
  const pool = new Pool(target.url, { connections: callers });
  const answers: Answered[] = [];
  let left = requests;
  const caller = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      answers.push(await answered(pool, target, body));
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  await pool.close();
  return answers;
}

/** Connections of an open loop. A request that finds none free waits, and its time counts. */
const openConnections = 64;

/** Open loop: a fixed rate, whatever the answers do. */
export async function openLoop(
  target: Target,
  body: string | Buffer,
  perSecond: number,
  seconds: number,
): Promise<readonly Answered[]> {
  const pool = new Pool(target.url, { connections: openConnections });
  const answers: Promise<Answered>[] = [];
  const startedAt = performance.now();
  for (let sent = 0; sent < perSecond * seconds; sent += 1) {
    const dueAt = startedAt + (sent * 1000) / perSecond;
    const wait = dueAt - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const answer = answered(pool, target, body);
    // Failures are thrown below, once all requests are sent. Until then nothing awaits them.
    answer.catch(() => undefined);
    answers.push(answer);
  }
  const all = await Promise.all(answers);
  await pool.close();
  return all;
}

/** The value below which this fraction (0 to 1) of the values lies. */
export const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ??
  Number.NaN;

export const median = (values: readonly number[]): number => percentile(values, 0.5);
