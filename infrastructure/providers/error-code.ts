/** The first code (`ECONNREFUSED`) of an error or its causes, at most `levels` deep. Anything but a code is skipped. */
export function codeIn(error: unknown, levels: number): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, cause }: { readonly code?: unknown; readonly cause?: unknown } = error;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code;
  return levels === 0 ? undefined : codeIn(cause, levels - 1);
}
