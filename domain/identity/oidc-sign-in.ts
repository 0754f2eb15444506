/** How long a browser may stay at the identity provider. */
export const signInLifeMs = 10 * 60_000;

/** Sign-ins of one address that are under way: more than anybody has windows open. */
export const maxSignInsOfAddress = 20;

/**
 * Sign-ins under way in all: each is a row of a few hundred bytes. Those that began first make room for the next one, so
 * that who begins many, from many addresses, shuts nobody out.
 */
export const maxSignIns = 10_000;

/** By how much the clocks of gateway and provider may differ where the times of an ID token are judged. */
export const clockToleranceSecs = 30;
