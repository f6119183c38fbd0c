/** What the strategy of Pods finds wrong, for tests of its rules. */
import { expect, test } from 'vitest'
import { strategyRuns } from '../../../../support/strategy-runs.ts'

export const pods = strategyRuns('pods')
export const container = { name: 'c', image: 'i' }
export const contains = (text: string): string => expect.stringContaining(text) as unknown as string

/** Of a Pod with one container and these fields. */
export const faultsOf = (spec: object, metadata: object = {}): string[] =>
  pods.createFaults({ metadata, spec: { containers: [container], ...spec } })

/** Of a Pod whose container has these fields. */
export const faultsOfContainer = (fields: object, spec: object = {}): string[] =>
  faultsOf({ containers: [{ ...container, ...fields }], ...spec })

/** A row per rule: what the part is, and what is said of it. */
export function rules(
  of: (part: object) => string[],
  rows: readonly (readonly [object, string[]])[],
): void {
  test.each(rows)('%j', (part, faults) => {
    expect(of(part)).toEqual(faults)
  })
}
