/** A part of the soak: runs of one kind, as many as its slice of time allows. */

export interface Part {
  readonly name: string
  /** What it counts. */
  readonly unit: string
  /** How long one turn of it lasts. */
  readonly sliceMs: number
  /** Rejects at the first failure. */
  run(options: { seed: number; until: number }): Promise<{ runs: number; note: string }>
}
