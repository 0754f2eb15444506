/** What is known of one error of a chain. */
export interface ErrorLink {
  /** The error's own name, or the name of its class if its own is only `Error`. */
  readonly name: string;
  readonly message: string;
  /** The code that PostgreSQL or the system gave the error. */
  readonly code: string | undefined;
  /** The violated constraint, and below it the table. */
  readonly constraint: string | undefined;
  readonly table: string | undefined;
}

/** Limit of errors examined: longer chains are cycles. */
const maxLinks = 16;

/**
 * An error and its causes, the outermost first, including each error of an aggregate (several addresses that failed).
 * Errors are recognised by their shape, because an error that Node creates need not be of this realm's class.
 */
export function errorChain(error: unknown): readonly ErrorLink[] {
  const links: ErrorLink[] = [];
  const open: unknown[] = [error];
  while (open.length > 0 && links.length < maxLinks) {
    const at = open.shift();
    if (!isErrorLike(at)) continue;
    links.push({
      name: nameOf(at),
      message: at.message,
      code: textOf(at.code),
      constraint: textOf(at.constraint),
      table: textOf(at.table),
    });
    open.push(at.cause, ...(Array.isArray(at.errors) ? at.errors : []));
  }
  return links;
}

interface ErrorLike {
  readonly name: string;
  readonly message: string;
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly table?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

const isErrorLike = (value: unknown): value is ErrorLike =>
  typeof value === 'object' &&
  value !== null &&
  'message' in value &&
  typeof value.message === 'string' &&
  'name' in value &&
  typeof value.name === 'string';

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** `Error` alone says nothing. */
const nameOf = (error: ErrorLike): string => {
  const kind: unknown = error.constructor?.name;
  return error.name === 'Error' && typeof kind === 'string' ? kind : error.name;
};
