import { fairRoom } from '../../../application/admin/fair-room.ts';
import { overloaded } from '../../../domain/shared/gateway-error.ts';
import { type Arrivals, bodyPace } from '../body-pace.ts';

/** An address and a password are a few hundred bytes. */
export const maxLoginBytes = 8 * 1024;

export interface LoginBodyBounds {
  /** Bodies that are on their way at once: 8 MiB at most. */
  readonly places: number;
  /** A login is one packet. */
  readonly withinMs: number;
}

const bounds: LoginBodyBounds = { places: 1024, withinMs: 10_000 };

/**
 * Where the bodies of logins arrive, which anybody may send: apart from everything else, so that half a login takes
 * nothing from anybody but other slow logins. A body that is here whole waits for nothing.
 */
export function loginBodies({ places, withinMs }: LoginBodyBounds = bounds) {
  const room = fairRoom(places);
  const arriving = bodyPace({ firstMs: withinMs, bytesPerSec: Infinity, lookMs: Math.min(500, withinMs) });
  return {
    waiting: room.taken,
    of:
      (network: string): Arrivals =>
      (stop) => {
        const { received, over } = arriving(stop);
        const leave = room.enter(network, () => stop(overloaded));
        return {
          received,
          over: () => {
            over();
            leave();
          },
        };
      },
  };
}

export type LoginBodies = ReturnType<typeof loginBodies>;
