/**
 * The number at this position after the command's name, beginning with 1; a value that is not above 0 ends
 * the command.
 */
export function givenNumber(place: number, otherwise: number): number {
  const given = process.argv[place + 1];
  const number = given === undefined ? otherwise : Number(given);
  return number > 0 ? number : refused(`${given}: a number above 0, or nothing for ${otherwise}`);
}

/**
 * The numbers of these options; a value that is not above 0 ends the command, since a run with it would test
 * nothing.
 */
export function numbersOf<Name extends string>(
  values: Readonly<Record<Name, string>>,
  ...names: readonly Name[]
): Readonly<Record<Name, number>> {
  const numbers = names.map((name) => {
    const number = Number(values[name]);
    return [name, number > 0 ? number : refused(`--${name} ${values[name]}: a number above 0`)] as const;
  });
  return Object.fromEntries(numbers) as Record<Name, number>;
}

function refused(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(2);
}
