import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { CallLife } from '../../application/mcp/call-life.ts';
import { lasting } from '../../application/mcp/lasting-stream.ts';
import type { McpAnswer } from '../../application/mcp/mcp-request.ts';
import type { McpErrorCode } from '../../domain/mcp/mcp-error.ts';

/** A stream whose API key is checked again when the test says so. */
function scene() {
  const beats = new Set<() => void>();
  const life = new CallLife({ lost: () => undefined, whenLost: () => undefined });
  let says: McpErrorCode = 'store_unavailable';
  let looks = 0;
  const call = {
    life,
    request: {
      serverId: 's',
      authenticateAgain: async () => {
        looks += 1;
        return E.left({ code: says, message: '' });
      },
    },
  } as unknown as Parameters<typeof lasting>[1];
  const ports = {
    upstreams: { servers: () => [] },
    beat: (look: () => void) => {
      beats.add(look);
      return () => void beats.delete(look);
    },
  };
  return {
    begin: (answer: McpAnswer) => lasting(ports, call, async () => answer),
    beat: async (code: McpErrorCode) => {
      says = code;
      for (const look of beats) {
        look();
        look();
      }
      await new Promise((resolve) => setImmediate(resolve));
    },
    isEnded: () => life.signal.aborted,
    watched: () => beats.size,
    looks: () => looks,
  };
}

const events: McpAnswer = { kind: 'events', status: 200, events: (async function* none() {})() };

describe('a long-lived MCP stream', () => {
  it('continues while its API key cannot be checked, and ends when the key is invalid', async () => {
    const { begin, beat, isEnded, watched, looks } = scene();
    await begin(events);
    await beat('store_unavailable');
    expect([isEnded(), watched(), looks()]).toEqual([false, 1, 1]);
    await beat('invalid_api_key');
    expect([isEnded(), watched(), looks()]).toEqual([true, 0, 2]);
  });

  it('is not watched after a whole answer', async () => {
    const { begin, watched } = scene();
    await begin({ kind: 'empty', status: 202 });
    expect(watched()).toBe(0);
  });
});
