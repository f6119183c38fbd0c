/** include: runs the steps of another scenario file, with parameters. They are read with the file that includes them. */
import { dirname } from 'node:path'
import { anything, described, object, optional, readable, record } from '../../../cluster/shape.ts'
import { defineStep, ScenarioStep } from '../step.ts'

const shape = object({
  file: described(
    'The file, relative to this one.',
    readable('a path', () => {}),
  ),
  with: described('Values of its parameters and variables.', optional(record(anything))),
})

export interface IncludeParams {
  readonly file: string
  readonly with?: Readonly<Record<string, unknown>>
}

/** What the file holds; a class, so that its steps resolve their variables when they run. */
export class IncludedFile {
  readonly file: string
  readonly variables: Readonly<Record<string, unknown>>
  readonly steps: readonly ScenarioStep[]
  constructor(included: Pick<IncludedFile, 'file' | 'variables' | 'steps'>) {
    this.file = included.file
    this.variables = included.variables
    this.steps = included.steps
  }
}

export const include = defineStep({
  name: 'include',
  summary: 'Run the steps of another scenario file, with parameters.',
  shape,
  title: ({ file }) => `include ${file}`,
  run: async (params, { runSteps, variables }) => {
    const { content } = params as IncludeParams & { readonly content?: IncludedFile }
    if (content === undefined)
      throw new Error(`${params.file}: only scenario files can include others`)
    const own: Record<string, unknown> = {}
    // In order: a variable can refer to earlier ones.
    for (const [name, value] of Object.entries(content.variables))
      own[name] = params.with?.[name] ?? variables.within(own).resolve(value)
    await runSteps(content.steps, params.file, {
      variables: { ...own, ...params.with },
      folder: dirname(content.file),
    })
  },
})
