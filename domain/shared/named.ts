declare const name: unique symbol;

/**
 * A named primitive. Values with different names are not assignable to each other. A value without a name, such as a
 * literal or one that was just read, is assignable to any, so no code has to convert it.
 */
export type Named<Value extends string | bigint, Name extends string> = Value & { readonly [name]?: Name };
