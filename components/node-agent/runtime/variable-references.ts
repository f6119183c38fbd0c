/** Variable references: `$(NAME)` in commands and values of the environment (upstream: third_party/forked/golang/expansion). */

/** `$(NAME)` is what the variable holds, or stays as it is when there is none; `$$` is a dollar. */
export function withReferences(
  text: string,
  valueOf: (name: string) => string | undefined,
): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (whole, name?: string) =>
    name === undefined ? '$' : (valueOf(name) ?? whole),
  )
}
