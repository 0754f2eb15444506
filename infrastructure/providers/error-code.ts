/** The first code of an error or of what caused it, at most so many levels deep: `ECONNREFUSED`, and nothing longer. */
export function codeIn(error: unknown, levels: number): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, cause }: { readonly code?: unknown; readonly cause?: unknown } = error;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code;
  return levels === 0 ? undefined : codeIn(cause, levels - 1);
}
