/** Matrix: a scenario once for each combination of its matrix' values. PURE. */
import type { Scenario } from './scenario.ts'

function combinations(
  matrix: Readonly<Record<string, readonly unknown[]>>,
): Record<string, unknown>[] {
  return Object.entries(matrix).reduce<Record<string, unknown>[]>(
    (rows, [name, values]) =>
      rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value }))),
    [{}],
  )
}

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Without a matrix, the scenario alone. Names are `web[replicas=1, strategy=Recreate]`. */
export function matrixOf(scenario: Scenario): Scenario[] {
  const { matrix, name, variables } = scenario
  if (matrix === undefined) return [scenario]
  return combinations(matrix).map((values) => {
    const shown = Object.entries(values).map(([key, value]) => `${key}=${text(value)}`)
    return {
      ...scenario,
      name: `${name}[${shown.join(', ')}]`,
      variables: { ...values, ...variables },
    }
  })
}
