/** Variable references: `$(NAME)` in commands and values of the environment (upstream: third_party/forked/golang/expansion). */

/** Expands `$(NAME)` to the variable's value; an unknown name stays as it is, and `$$` is a dollar. */
export function withReferences(
  text: string,
  valueOf: (name: string) => string | undefined,
): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (whole, name?: string) =>
    name === undefined ? '$' : (valueOf(name) ?? whole),
  )
}
