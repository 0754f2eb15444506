/**
 * Loaded into a gateway before anything else (`--import`): shifts its wall clock by the milliseconds in the
 * file `TORTURE_CLOCK`, as after a step of the system clock. Monotonic time (`performance.now`, timers) is
 * unaffected.
 */
import { readFileSync } from 'node:fs';

const file = process.env['TORTURE_CLOCK'] ?? '';
const RealDate = Date;
let offMs = 0;

const look = (): void => {
  try {
    offMs = Number(readFileSync(file, 'utf8'));
  } catch {
    // A process without free descriptors keeps its present shift.
  }
};

globalThis.Date = class extends RealDate {
  constructor(...given: [] | [value: number]) {
    if (given.length === 0) super(RealDate.now() + offMs);
    else super(...given);
  }

  static override now(): number {
    return RealDate.now() + offMs;
  }
} as DateConstructor;

look();
setInterval(look, 50).unref();
