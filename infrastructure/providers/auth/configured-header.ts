import type { CompatAuth } from '../../config/provider-auth.ts';
import type { Authenticator } from '../provider.ts';

/** A credential from the configuration. It is added last, so that `extra_headers` never replace it. */
export function configuredHeader(auth: CompatAuth): Authenticator {
  switch (auth.mode) {
    case 'bearer':
      return withHeader('authorization', `Bearer ${auth.token}`);
    case 'header':
      return withHeader(auth.name.toLowerCase(), auth.value);
    case 'none':
      return (request) => request;
  }
}

const withHeader =
  (name: string, value: string): Authenticator =>
  (request) => ({ ...request, headers: { ...request.headers, [name]: value } });
