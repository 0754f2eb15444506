import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { cutOff } from '../../interfaces/http/cut-off.ts';
import { openContext } from '../../interfaces/http/request-context.ts';

/** A request whose connection the test closes, and what its pipeline was told of the caller. */
function opened(cut: Parameters<typeof openContext>[4]) {
  const res = Object.assign(new EventEmitter(), { writableFinished: false });
  const req = { headers: {} } as IncomingMessage;
  const { link } = openContext(req, res as unknown as ServerResponse, 0, () => 'id', cut);
  const told: string[] = [];
  link.whenLost((why) => void told.push(why));
  return { res, link, told, close: () => res.emit('close') };
}

/** An end of the grace that can be asked who waits for it. */
function watchedCut() {
  const waiting = new Set<() => void>();
  const whenCut = (callback: () => void) => {
    waiting.add(callback);
    return () => void waiting.delete(callback);
  };
  return { waiting, whenCut };
}

describe('the caller’s connection', () => {
  it.each([true, false])('is not waited for at the end of the grace when it is over (whole: %s)', (whole) => {
    const cut = watchedCut();
    const { res, close } = opened(cut);
    expect(cut.waiting.size).toBe(1);
    res.writableFinished = whole;
    close();
    expect(cut.waiting.size).toBe(0);
  });

  it('that ends behind the whole answer has lost nothing', () => {
    const { res, link, told, close } = opened(cutOff());
    res.writableFinished = true;
    close();
    expect([link.gone(), link.lost(), told]).toEqual([false, undefined, []]);
  });

  it('that ends before is gone, and why is told once, also to who asks later', () => {
    const cut = cutOff();
    const { link, told, close } = opened(cut);
    close();
    cut.now();
    link.whenLost((why) => void told.push(why));
    expect([link.gone(), link.lost(), told]).toEqual([
      true,
      'client_closed',
      ['client_closed', 'client_closed'],
    ]);
  });

  it('that is cut off by the gateway is still there, and no caller’s who left', () => {
    const cut = cutOff();
    const { link, told, close } = opened(cut);
    cut.now();
    expect([link.gone(), link.lost(), told]).toEqual([false, 'shutting_down', ['shutting_down']]);
    close();
    expect([link.gone(), link.lost(), told]).toEqual([true, 'shutting_down', ['shutting_down']]);
  });
});
