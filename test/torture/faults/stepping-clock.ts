/**
 * Loaded into a gateway before anything else (`--import`): its wall clock is off by the milliseconds that the file
 * `TORTURE_CLOCK` holds, as after a step of the system's clock. What is measured (`performance.now`, timers) goes on.
 */
import { readFileSync } from 'node:fs';

const file = process.env['TORTURE_CLOCK'] ?? '';
const RealDate = Date;
let offMs = 0;

const look = (): void => {
  try {
    offMs = Number(readFileSync(file, 'utf8'));
  } catch {
    // A process without descriptors keeps the time that it has.
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
