/** ExplorationError: what an exploration has found, or what keeps the controller from being explored. */

/** A plan that found something. */
export interface FoundPlan {
  /** In words. */
  readonly title: string
  readonly findings: readonly string[]
  /** Of the plan, which `plan` runs again. */
  readonly file: string
}

export class ExplorationError extends Error {
  /** None: the story does not come to the same end without any fault. */
  readonly found: readonly FoundPlan[]

  constructor(message: string, found: readonly FoundPlan[] = []) {
    super(message)
    this.name = 'ExplorationError'
    this.found = found
  }
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`)

export function unfitError(findings: readonly string[]): ExplorationError {
  const title = 'the story does not come to the same end without any fault:'
  return new ExplorationError([title, ...indented(findings)].join('\n'))
}

export function foundError(found: readonly FoundPlan[]): ExplorationError {
  const lines = found.flatMap(({ title, findings, file }) => [
    title,
    ...indented(findings),
    ...indented([`Again: EXPLORE_PLAN=${file}`]),
  ])
  return new ExplorationError(lines.join('\n'), found)
}
