import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { cutOff } from '../../interfaces/http/cut-off.ts';
import { openContext } from '../../interfaces/http/request-context.ts';

/** A request whose connection the test closes, and the reasons for which it was reported lost. */
function opened(cut: Parameters<typeof openContext>[4]) {
  const res = Object.assign(new EventEmitter(), { writableFinished: false });
  const req = { headers: {} } as IncomingMessage;
  const { link } = openContext(req, res as unknown as ServerResponse, 0, () => 'id', cut);
  const told: string[] = [];
  link.whenLost((why) => void told.push(why));
  return { res, link, told, close: () => res.emit('close') };
}

/** The end of the grace period, with the callbacks that wait for it. */
function watchedCut() {
  const waiting = new Set<() => void>();
  const whenCut = (callback: () => void) => {
    waiting.add(callback);
    return () => void waiting.delete(callback);
  };
  return { waiting, whenCut };
}

describe('the connection of a caller', () => {
  it.each([true, false])(
    'does not wait for the end of the grace period once it has closed (whole: %s)',
    (whole) => {
      const cut = watchedCut();
      const { res, close } = opened(cut);
      expect(cut.waiting.size).toBe(1);
      res.writableFinished = whole;
      close();
      expect(cut.waiting.size).toBe(0);
    },
  );

  it('that closes after the whole answer is not lost', () => {
    const { res, link, told, close } = opened(cutOff());
    res.writableFinished = true;
    close();
    expect([link.gone(), link.lost(), told]).toEqual([false, undefined, []]);
  });

  it('that closes before the whole answer is reported lost as `client_closed`, also to later listeners', () => {
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

  it('that the gateway cuts off is not gone, and is lost to the shutdown, also once it has closed', () => {
    const cut = cutOff();
    const { link, told, close } = opened(cut);
    cut.now();
    expect([link.gone(), link.lost(), told]).toEqual([false, 'shutting_down', ['shutting_down']]);
    close();
    expect([link.gone(), link.lost(), told]).toEqual([true, 'shutting_down', ['shutting_down']]);
  });
});
