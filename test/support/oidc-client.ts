import { randomBytes } from 'node:crypto';

/** What the gateway is known as at the provider of tests. */
export const oidcClient = { id: 'gateway', secret: `client-secret-${randomBytes(16).toString('hex')}` };
