/** Whether a header's value is a secret, by its name. */
export const isSecretHeader = (name: string): boolean =>
  /authorization|cookie|key|token|secret|password|credential|(?:^|[-_])auth$/i.test(name);

/** What proxies in front of the gateway call the proofs of who was signed in, which they send along. */
const proofs = /authentication|jwt|-assertion$|-oidc-data$|^dpop$/i;

/** Keys that open nothing: a call that is repeated is known by them. */
const harmless = /^(?:x-)?idempotency-key$/i;

/** Whether nothing of a caller's header may be kept, by its name. */
export const isHiddenHeader = (name: string): boolean =>
  (isSecretHeader(name) || proofs.test(name)) && !harmless.test(name);
