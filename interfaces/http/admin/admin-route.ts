import type { Either } from 'fp-ts/lib/Either.js';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import type { Json } from '../../../domain/shared/json.ts';
import type { AdminData } from './json-text.ts';

/** Who is logged in; the role was read at this request. */
export interface Admin {
  readonly userId: string;
  readonly email: string;
  /** Where the call comes from. */
  readonly address: string;
}

/** A call of a platform admin whose session, role and origin were checked. */
export interface AdminCall {
  readonly admin: Admin;
  /** Values of the `:name` parts of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The JSON body of a call that has one. */
  readonly body: Json | undefined;
}

/** One admin endpoint. What it gives back becomes `data` of `{data, meta: {generated_at}}`, with status 200. */
export interface AdminRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Such as `/api/v1/admin/spend/budgets/users/:user_id`. */
  readonly path: string;
  readonly handle: (call: AdminCall) => Promise<Either<GatewayError, AdminData>>;
}
