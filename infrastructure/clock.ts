import { randomFillSync } from 'node:crypto';
import type { Clock } from '../application/ports/clock.ts';

/** Random bytes are fetched for this many ids at once, because a system call per id would cost more than the id. */
const idsPerFill = 256;
const randomBytesPerId = 10;

/** The system's clock, and UUIDv7 ids that sort by the millisecond in which they were made. */
export function systemClock(): Clock {
  const pool = Buffer.alloc(idsPerFill * randomBytesPerId);
  let used = idsPerFill;
  return {
    now: Date.now,
    newId: () => {
      if (used === idsPerFill) {
        randomFillSync(pool);
        used = 0;
      }
      const at = used * randomBytesPerId;
      used += 1;
      return uuidV7(Date.now(), pool.toString('hex', at, at + randomBytesPerId));
    },
  };
}

/** RFC 9562: 48 bits of milliseconds, the version, 12 random bits, the variant, 62 random bits. */
function uuidV7(milliseconds: number, random: string): string {
  const time = milliseconds.toString(16).padStart(12, '0');
  const variant = ((Number.parseInt(random.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`;
}
