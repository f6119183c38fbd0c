/** ComponentFaults: which components of a cluster have ended by themselves since it started. */

export class ComponentFaults {
  /** Text by the part of the cluster: a component, or the name of a node. */
  readonly #texts = new Map<string, string>()
  #listener: (texts: readonly string[]) => void = () => {}

  /** Calls back now and at each change, with what is wrong then. One listener. */
  follow(listener: (texts: readonly string[]) => void): void {
    this.#listener = listener
    this.#tell()
  }

  report(part: string, text: string): void {
    this.#texts.set(part, text)
    this.#tell()
  }

  /** The part has been stopped, or starts again. */
  clear(part: string): void {
    if (this.#texts.delete(part)) this.#tell()
  }

  #tell(): void {
    this.#listener([...this.#texts.values()])
  }
}
