import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { heldScene } from './held-scene.ts';
import type { HeldCall } from './held-upstream.ts';
import { beginExchange } from './raw-http.ts';
import { chat, type Talk, talks } from './talk.ts';
import { eventually, outcomesOf } from './traces.ts';

/** Time in which the gateway notices a disconnect; short, since both are on this machine. */
export const noticedMs = 50;

const keys = { free: aKey(), soft: aKey(), hard: aKey(), poor: aKey() };

const budget = (hard_limit: boolean, amount_10000 = 1_000_000) => ({
  cadence: 'daily',
  amount_10000,
  hard_limit,
});

const configOf = (upstreamUrl: string, accounting: ConfigFile): ConfigFile =>
  basicConfig(upstreamUrl, keys.free, {
    more: {
      accounting,
      users: [
        { email: 'free@example.com' },
        { email: 'soft@example.com', budget: budget(false) },
        { email: 'hard@example.com', budget: budget(true) },
        { email: 'poor@example.com', budget: budget(true, 0) },
      ],
      api_keys: Object.entries(keys).map(([name, value]) => ({
        name,
        owner: `user:${name}@example.com`,
        value,
      })),
    },
  });

export interface Caller {
  readonly requestId: string;
  readonly socket: Socket;
  /** Waits until the caller has received the text. */
  readonly receives: (text: string) => Promise<true>;
  readonly received: () => string;
  /** Waits until the request is sent, and then until the gateway has received it. */
  readonly sent: () => Promise<void>;
  /** Disconnects, and waits until the gateway has noticed. */
  readonly leave: () => Promise<void>;
}

export const untilLeft = (held: HeldCall): Promise<true> =>
  eventually(() => (held.left() ? true : undefined));

export const priced = { pricing_status: 'priced', cost_picousd: String(10n * 150_000n + 20n * 600_000n) };
export const usageMissing = { pricing_status: 'usage_missing', cost_picousd: null };

/** The families with a name for titles, `$operation`. */
export const families = talks.map((talk) => ({ operation: talk.operation, talk }));

/** A gateway whose callers disconnect, and the checks of the rows of their requests. */
export function disconnectScene() {
  const stage = heldScene((url) => configOf(url, {}));
  const config = (accounting: ConfigFile = {}): ConfigFile => configOf(stage.upstream().url, accounting);

  function call(owner: keyof typeof keys, stream: boolean, { path, body }: Talk = chat): Caller {
    const requestId = `left-${randomUUID()}`;
    const socket = beginExchange(stage.gateway().url, {
      path,
      headers: [
        ['authorization', `Bearer ${keys[owner]}`],
        ['content-type', 'application/json'],
        ['x-request-id', requestId],
      ],
      body: JSON.stringify(body(stream)),
    });
    let text = '';
    socket.on('data', (piece: Buffer) => void (text += piece.toString()));
    return {
      requestId,
      socket,
      receives: (wanted) => eventually(() => (text.includes(wanted) ? true : undefined)),
      received: () => text,
      sent: async () => {
        await eventually(() => (!socket.connecting && socket.writableLength === 0) || undefined);
        await sleep(noticedMs);
      },
      leave: async () => {
        socket.destroy();
        await sleep(noticedMs);
      },
    };
  }

  /** Checks the rows and the single outcome of a request whose caller disconnected. */
  async function expectLeft(
    { operation }: Talk,
    requestId: string,
    attempt: object,
    ledger: readonly object[],
  ): Promise<void> {
    const trace = await stage.finalTraceOf(requestId);
    expect(trace.logs).toEqual([
      expect.objectContaining({
        status_code: 499,
        error_code: 'client_closed',
        provider_key: 'up',
        metadata_json: expect.objectContaining({ operation }),
      }),
    ]);
    expect(trace.attempts).toEqual([expect.objectContaining(attempt)]);
    expect(trace.ledger).toEqual(ledger.map((row) => expect.objectContaining(row)));
    expect(outcomesOf(stage.gateway(), requestId)).toEqual([
      expect.objectContaining({ outcome: 'client_closed', status: 499 }),
    ]);
  }

  async function expectSuccess({ operation }: Talk, requestId: string, ledger: object): Promise<void> {
    const trace = await stage.finalTraceOf(requestId);
    expect(trace.logs).toEqual([
      expect.objectContaining({
        status_code: 200,
        error_code: null,
        metadata_json: expect.objectContaining({ operation }),
      }),
    ]);
    expect(trace.attempts).toEqual([
      expect.objectContaining({ status: 'success', status_code: 200, error_code: null }),
    ]);
    expect(trace.ledger).toEqual([expect.objectContaining(ledger)]);
    expect(outcomesOf(stage.gateway(), requestId)).toEqual([expect.objectContaining({ outcome: 'success' })]);
  }

  /** The last test of each suite. */
  function describeEverybodyWhoLeft(): void {
    describe('after all client disconnects', () => {
      it('no request is in flight, the gateway stops at once, and no error was logged', async () => {
        const stopped = stage.stop();
        await expect(
          Promise.race([stopped.then(() => 'idle'), sleep(8000, 'busy', { ref: false })]),
        ).resolves.toBe('idle');
        expect(stage.gateway().log.lines).toContainEqual({
          level: 'info',
          fields: { in_flight: 0 },
          message: 'draining',
        });
        expect(stage.gateway().log.lines.filter(({ level }) => level === 'error')).toEqual([]);
      });
    });
  }

  return { ...stage, config, call, expectLeft, expectSuccess, describeEverybodyWhoLeft };
}
