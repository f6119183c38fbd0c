/** Variable references: `$(NAME)` in commands and values of the environment (upstream: third_party/forked/golang/expansion). */

/** Expands `$(NAME)` to the variable's value; an unknown name stays unexpanded, and `$$` becomes `$`. */
export function withReferences(
  text: string,
  valueOf: (name: string) => string | undefined,
): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (whole, name?: string) =>
    name === undefined ? '$' : (valueOf(name) ?? whole),
  )
}
