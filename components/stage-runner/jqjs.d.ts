/** What is used of a package that has no types. */
declare module '@michaelhomer/jqjs' {
  /** Throws an Error, or a text, for a program that is none. */
  export function compileNode(program: string): {
    apply(input: unknown, names: unknown): Iterable<unknown>
  }
}
