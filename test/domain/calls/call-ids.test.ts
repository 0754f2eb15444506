import { callId, CallIds } from '../../../domain/calls/call-ids.ts';
import { describe, expect, it } from '@jest/globals';

const uuid = '01a22880ba40747d875b43c70ad6ccfe';
const another = '01a22880ba40747d875b43c70ad6ccff';
const inChat = (id: string, ordinal: number) => callId({ id: `chatcmpl-${id}` }, 127, ordinal);
const inMessages = (id: string, ordinal: number) => new CallIds({ id: `msg_${id}` }).give('', ordinal);

describe('an id that the gateway makes for a call', () => {
  it.each([
    ['in chat', inChat],
    ['in messages', inMessages],
  ])('%s has at most 40 characters, as OpenAI’s API requires', (_, made) => {
    expect(made(uuid, 9999).length).toBeLessThanOrEqual(40);
    const ids = [made(uuid, 1), made(uuid, 11), made(another, 1)];
    expect(new Set(ids).size).toBe(ids.length);
  });
});
