/** No longer key folds to a field's name, and normalising a text can take time quadratic in its length. */
const maxFoldedChars = 64;

/**
 * Whether a key is one of these names in another case, or with compatibility characters. Servers in Go read it as that
 * name, and use it instead if it comes later.
 */
export function isRespelled(key: string, names: ReadonlySet<string>): boolean {
  if (key.length > maxFoldedChars) return false;
  const folded = key.normalize('NFKC').toLowerCase();
  return folded !== key && names.has(folded);
}
