/** Whether a header's name says that its value is a secret. */
export const isSecretHeader = (name: string): boolean =>
  /authorization|cookie|key|token|secret|password|credential|(?:^|[-_])auth$/i.test(name);

/** Headers in which proxies in front of the gateway pass on proof of who signed in. */
const proofs = /authentication|jwt|-assertion$|-oidc-data$|^dpop$/i;

/** Keys that grant no access: they only identify a repeated call. */
const harmless = /^(?:x-)?idempotency-key$/i;

/** Whether a header's name says that nothing of its value may be kept. */
export const isHiddenHeader = (name: string): boolean =>
  (isSecretHeader(name) || proofs.test(name)) && !harmless.test(name);
