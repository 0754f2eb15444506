declare const name: unique symbol;

/**
 * A primitive with a name. Two that have different names are not taken for each other; one without a name, such as a
 * literal or what was just read, is taken for either, so that no place has to convert it.
 */
export type Named<Value extends string | bigint, Name extends string> = Value & { readonly [name]?: Name };
