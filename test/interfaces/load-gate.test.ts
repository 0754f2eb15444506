import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { adminGates, gatesOf } from '../../interfaces/http/gates.ts';
import { type Lease, loadGate } from '../../interfaces/http/load-gate.ts';

const enter = (gate: ReturnType<typeof loadGate>, owner: string): Lease | undefined => {
  const lease = gate.enter();
  if (lease?.belongsTo(owner) !== false) return lease;
  lease.release();
  return undefined;
};

/** A request enters and holds bytes, or one of those in flight ends. */
const anEvent = fc.oneof(
  fc.record({
    owner: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    pieces: fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 4 }),
  }),
  fc.record({ ends: fc.nat(20) }),
);

describe('a load gate', () => {
  it('never admits more requests, in total or per owner, and never holds more bytes than its limits', () => {
    fc.assert(
      fc.property(fc.array(anEvent, { maxLength: 60 }), (events) => {
        const limits = { maxInFlight: 8, maxInFlightPerOwner: 2, maxBufferedBytes: 200 };
        const gate = loadGate(limits);
        const inFlight: { owner: string; lease: Lease; bytes: number }[] = [];
        for (const event of events) {
          if ('ends' in event) {
            const [over] = inFlight.splice(event.ends % Math.max(1, inFlight.length), 1);
            over?.lease.release();
            over?.lease.release();
            continue;
          }
          const others = inFlight.filter(({ owner }) => owner === event.owner).length;
          const lease = enter(gate, event.owner);
          expect(lease === undefined).toBe(inFlight.length >= 8 || others >= 2);
          if (lease === undefined) continue;
          const request = { owner: event.owner, lease, bytes: 0 };
          inFlight.push(request);
          for (const piece of event.pieces) if (lease.hold(piece)) request.bytes += piece;
          const held = inFlight.reduce((sum, { bytes }) => sum + bytes, 0);
          expect(held).toBeLessThanOrEqual(limits.maxBufferedBytes);
          expect(gate.inFlight()).toBe(inFlight.length);
        }
        for (const { lease } of inFlight) lease.release();
        expect(gate.inFlight()).toBe(0);
        const after = enter(gate, 'a');
        expect(after?.hold(200)).toBe(true);
      }),
    );
  });

  it('admits a limited number of requests at once, over all owners, and another one for each that ends', () => {
    const gate = loadGate({ maxInFlight: 3, maxInFlightPerOwner: 2, maxBufferedBytes: 200 });
    const [first] = ['a', 'b', 'c'].map((owner) => enter(gate, owner));
    expect(enter(gate, 'd')).toBeUndefined();
    first?.release();
    expect([enter(gate, 'd'), enter(gate, 'e')]).toEqual([expect.anything(), undefined]);
  });

  it('counts bytes that are kept after the end of a request until they are released', () => {
    const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 8, maxBufferedBytes: 200 });
    const roomFor = (bytes: number): boolean => {
      const other = enter(gate, 'b');
      const fits = other?.hold(bytes) === true;
      other?.release();
      return fits;
    };
    const lease = enter(gate, 'a');
    expect([lease?.hold(100), lease?.holdUnfinished(50)]).toEqual([true, true]);
    const letGo = [lease?.keep(), lease?.keep()];
    lease?.release();
    expect([gate.inFlight(), roomFor(50), roomFor(51)]).toEqual([0, true, false]);
    letGo[0]?.();
    letGo[0]?.();
    expect(roomFor(51)).toBe(false);
    letGo[1]?.();
    expect(roomFor(200)).toBe(true);
    // Bytes of an upstream answer that is still being read.
    expect([lease?.holdUnfinished(500), roomFor(200)]).toEqual([true, true]);
  });

  it('frees bytes that are given back before the end of a request, once', () => {
    const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 8, maxBufferedBytes: 200 });
    const [lease, other] = [enter(gate, 'a'), enter(gate, 'b')];
    expect([lease?.hold(150), other?.hold(150)]).toEqual([true, false]);
    lease?.giveBack(100);
    expect([lease?.heldBytes(), other?.hold(150)]).toEqual([50, true]);
    lease?.release();
    lease?.giveBack(50);
    expect([other?.hold(50), other?.hold(1)]).toEqual([true, false]);
  });

  it("counts an owner's requests also while earlier ones keep payloads without bytes", () => {
    const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 2, maxBufferedBytes: 200 });
    const kept = [enter(gate, 'a'), enter(gate, 'a')].map((lease) => {
      const letGo = lease?.keep();
      lease?.release();
      return letGo;
    });
    kept[0]?.();
    expect([enter(gate, 'a'), enter(gate, 'a')]).not.toContain(undefined);
    kept[1]?.();
    expect(enter(gate, 'a')).toBeUndefined();
  });

  it("counts an owner's other requests when one that holds no bytes ends", () => {
    const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 2, maxBufferedBytes: 200 });
    const [one] = [enter(gate, 'a'), enter(gate, 'a')];
    one?.release();
    expect([enter(gate, 'a'), enter(gate, 'a')]).toEqual([expect.anything(), undefined]);
  });

  it('holds bytes of unfinished requests up to its limit, and frees those that became fewer', () => {
    const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 2, maxBufferedBytes: 200 });
    const [lease, other] = [enter(gate, 'a'), enter(gate, 'b')];
    const held = [150, 201, 200, 20].map((bytes) => [lease?.holdUnfinished(bytes), lease?.heldBytes()]);
    expect(held).toEqual([
      [true, 150],
      [false, 150],
      [true, 200],
      [true, 20],
    ]);
    expect(other?.hold(180)).toBe(true);
    expect([20, 21].map((bytes) => lease?.holdUnfinished(bytes))).toEqual([true, false]);
  });

  it('holds bytes up to its limit also for requests whose owner is not known yet', () => {
    const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 2, maxBufferedBytes: 200 });
    const lease = gate.enter();
    expect([lease?.hold(200), lease?.hold(1), lease?.belongsTo('a')]).toEqual([true, false, true]);
  });

  it('reserves a share of the bytes for other owners, whatever one owner sends', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 40 }), (pieces) => {
        const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 2, maxBufferedBytes: 200 });
        const greedy = [enter(gate, 'greedy'), enter(gate, 'greedy')];
        // Two requests that both hold bytes: from then on the last quarter is not available to their owner.
        for (const lease of greedy) lease?.hold(1);
        pieces.forEach((piece, n) => greedy[n % 2]?.hold(piece));
        expect(enter(gate, 'other')?.hold(50)).toBe(true);
      }),
    );
  });

  it('lets an owner over its share hold bytes of unfinished requests up to the last share, and always release', () => {
    const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 2, maxBufferedBytes: 200 });
    const [one, two, other] = [enter(gate, 'a'), enter(gate, 'a'), enter(gate, 'b')];
    expect([one?.hold(100), two?.holdUnfinished(50), two?.hold(1)]).toEqual([true, true, false]);
    expect(other?.hold(50)).toBe(true);
    expect(two?.holdUnfinished(40)).toBe(true);
  });

  it('lets an owner hold its share whatever others hold, and not a byte more of the last share', () => {
    const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 2, maxBufferedBytes: 200 });
    const [one, two, other] = [enter(gate, 'a'), enter(gate, 'a'), enter(gate, 'b')];
    expect([one?.hold(20), other?.hold(120), two?.hold(30), two?.hold(1)]).toEqual([true, true, true, false]);
  });

  it("counts an owner's kept bytes even if none of its requests is in flight", () => {
    const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 2, maxBufferedBytes: 200 });
    const [one, two, other] = [enter(gate, 'a'), enter(gate, 'a'), enter(gate, 'b')];
    expect([one?.hold(60), other?.hold(90)]).toEqual([true, true]);
    one?.keep();
    one?.release();
    two?.release();
    expect(enter(gate, 'a')?.hold(1)).toBe(false);
  });

  it("never rejects an owner's only request because of the owner's share", () => {
    const gate = loadGate({ maxInFlight: 8, maxInFlightPerOwner: 2, maxBufferedBytes: 200 });
    const lease = enter(gate, 'a');
    for (let n = 0; n < 20; n += 1) expect(lease?.hold(10)).toBe(true);
    expect(lease?.hold(1)).toBe(false);
  });

  it('lets an owner hold all bytes if there is no share per owner', () => {
    const gate = loadGate({ maxInFlight: 4, maxInFlightPerOwner: 4, maxBufferedBytes: 200 });
    for (let n = 0; n < 4; n += 1) expect(enter(gate, 'a')?.hold(50)).toBe(true);
  });
});

it('requests in flight are those of all gates, without streams of MCP servers', () => {
  const { models, mcp, admin, inFlight } = gatesOf({
    maxInFlight: 8,
    maxInFlightPerOwner: 2,
    maxBufferedBytes: 200,
  });
  const entered = [models, mcp.calls, admin.calls, admin.logins, admin.signIns, mcp.streams].map((gate) => {
    gate.enter();
    return inFlight();
  });
  expect(entered).toEqual([1, 2, 3, 4, 5, 5]);
});

describe('the gates of the admin API', () => {
  const admitted = (gate: ReturnType<typeof loadGate>, ownerOf: (at: number) => string): number => {
    const leases = Array.from({ length: 1000 }, (_, at) => enter(gate, ownerOf(at)));
    const held = leases.filter((lease) => lease !== undefined);
    for (const lease of held) lease.release();
    return held.length;
  };

  it.each([
    ['calls', 256, 64 * 1024 * 1024],
    ['signIns', 64, 1024 * 1024],
  ] as const)(
    'have places and room, and a quarter of the places for one network: %s',
    (name, places, bytes) => {
      const gate = adminGates()[name];
      expect(admitted(gate, (at) => `network-${at}`)).toBe(places);
      expect(admitted(gate, () => 'network')).toBe(places / 4);
      const lease = enter(gate, 'network');
      expect([lease?.hold(bytes), lease?.hold(1)]).toEqual([true, false]);
    },
  );

  it('only count logins', () => {
    const { logins } = adminGates();
    expect(admitted(logins, () => 'network')).toBe(1000);
    expect(enter(logins, 'network')?.hold(1e12)).toBe(true);
    expect(logins.inFlight()).toBe(1);
  });
});
