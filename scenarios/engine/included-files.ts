/** Included files: the steps of a file with the files that they include read, theirs too. */
import { dirname, relative, resolve } from 'node:path'
import type { Issue } from '../../cluster/shape.ts'
import { ScenarioStep } from './step.ts'
import { IncludedFile } from './steps/include.ts'
import type { IncludeParams } from './steps/include.ts'

/** What an included file has. */
export interface IncludedScenario {
  readonly variables: Readonly<Record<string, unknown>>
  readonly parameters?: readonly string[] | undefined
  readonly includes?: readonly string[] | undefined
  readonly steps: readonly ScenarioStep[]
}

export interface IncludeOptions {
  readonly file: string
  /** Absolute paths of the files that include each other, this one last. */
  readonly chain: readonly string[]
  /** Reads a file, or gives its faults. */
  readonly read: (file: string, chain: readonly string[]) => IncludedScenario | readonly string[]
}

export interface ResolvedIncludes {
  readonly steps: readonly ScenarioStep[]
  readonly files: readonly string[]
  /** Of this file, or a whole line about an included one. */
  readonly issues: readonly (Issue | { readonly fault: string })[]
}

const isFaults = (read: IncludedScenario | readonly string[]): read is readonly string[] =>
  Array.isArray(read)

export function resolveIncludes(
  steps: readonly ScenarioStep[],
  { file, chain, read }: IncludeOptions,
): ResolvedIncludes {
  const files: string[] = []
  const issues: (Issue | { fault: string })[] = []
  const included = (step: ScenarioStep): ScenarioStep => {
    const params = step.params as IncludeParams
    const path = [...step.path, 'include']
    const fail = (message: string, field = 'file'): ScenarioStep => {
      issues.push({ path: [...path, field], message })
      return step
    }
    if (params.file.includes('${'))
      return fail(`${params.file}: the name of a file cannot have variables`)
    const target = resolve(dirname(file), params.file)
    if (chain.includes(target)) {
      const shown = [...chain.slice(chain.indexOf(target)), target]
      const names = shown.map((one) => relative(dirname(target), one))
      return fail(`files include each other: ${names.join(' -> ')}`)
    }
    // As the user wrote it, so that faults name it so.
    const name = relative('', target).startsWith('..') ? target : relative('', target)
    const scenario = read(name, [...chain, target])
    if (isFaults(scenario)) {
      issues.push(...scenario.map((fault) => ({ fault })))
      return step
    }
    files.push(target, ...(scenario.includes ?? []))
    const { variables, parameters = [] } = scenario
    const given = Object.keys(params.with ?? {})
    const missing = parameters.filter((one) => !given.includes(one))
    if (missing.length > 0)
      return fail(`${params.file} needs ${missing.join(', ')}: give it in with`)
    const known = [...parameters, ...Object.keys(variables)]
    const unknown = given.find((one) => !known.includes(one))
    if (unknown !== undefined)
      return fail(
        `${params.file} has no parameter or variable ${unknown}; it has ${known.join(', ') || 'none'}`,
        'with',
      )
    const content = new IncludedFile({ file: target, variables, steps: scenario.steps })
    return step.with({ ...params, content })
  }
  const visit = (value: unknown): unknown => {
    if (value instanceof ScenarioStep) {
      if (value.kind.name === 'include') return included(value)
      return value.with(visit(value.params))
    }
    if (Array.isArray(value)) return value.map(visit)
    if (typeof value !== 'object' || value === null) return value
    if (Object.getPrototypeOf(value) !== Object.prototype) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, visit(one)]))
  }
  return { steps: visit(steps) as ScenarioStep[], files: [...new Set(files)], issues }
}
